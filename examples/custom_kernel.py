"""A kernel of your own: hand over its matrix. Words are compared by the letter pairs they share."""

import numpy as np

from exactsvm import SVC

FLOWERS = ["tulip", "rose", "violet", "lily", "daisy", "poppy", "orchid", "peony", "iris", "dahlia"]
METALS = [
    "iron",
    "copper",
    "silver",
    "nickel",
    "cobalt",
    "chromium",
    "titanium",
    "zinc",
    "tin",
    "lead",
]


def letter_pairs(words):
    """Count how often each pair of neighbouring letters occurs in each word."""
    pairs = sorted({w[i : i + 2] for w in FLOWERS + METALS for i in range(len(w) - 1)})
    return np.array([[w.count(p) for p in pairs] for w in words], dtype=float)


def similarity(A, B):
    """Cosine of the two count vectors: positive semidefinite, as every kernel has to be."""
    P, Q = letter_pairs(A), letter_pairs(B)
    return (P @ Q.T) / np.outer(np.linalg.norm(P, axis=1), np.linalg.norm(Q, axis=1))


train = FLOWERS[:7] + METALS[:7]
kind = ["flower"] * 7 + ["metal"] * 7
model = SVC(kernel="precomputed", C=10).fit(similarity(train, train), kind)

unseen = FLOWERS[7:] + METALS[7:]
# Rows are the new words, columns the training words.
for word, answer in zip(unseen, model.predict(similarity(unseen, train)), strict=True):
    print(f"{word:10} {answer}")
print(model.certificate_)
