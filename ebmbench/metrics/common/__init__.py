"""What several metrics share: the model under judgement, integrals, annealing, features, chains."""
