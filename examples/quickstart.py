"""Ten lines: train, predict, and read how far the answer is from the optimum."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactsvm import SVC

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = make_pipeline(StandardScaler(), SVC(C=10))
model.fit(X_train, y_train)

print(f"accuracy on held-out data: {model.score(X_test, y_test):.3f}")
print(model[-1].certificate_)
