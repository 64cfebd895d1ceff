from ebmbench.report.results.table import load_results as load_results
from ebmbench.training.trained import Trained as Trained
from ebmbench.training.trained import load as load
