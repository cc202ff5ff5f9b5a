"""The screens for settings and models: choosing, explanations and costs."""
