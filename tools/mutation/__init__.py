"""Mutation testing of modules whose errors are silent: do their tests see a changed operator?"""
