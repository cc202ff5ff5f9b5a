"""Monitoring for the operator: logs, metrics, and notifications to systemd."""
