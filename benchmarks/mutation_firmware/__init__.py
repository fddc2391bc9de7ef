"""How good the judges of runs are: they are shown firmware and CPUs with one mistake each."""
