"""The jobs a person launches, and the schedules that launch them."""
