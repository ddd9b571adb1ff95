"""All services of the course. A new one is a module beside this and a line in here."""

from servers.backends.world.bookings import bookings
from servers.backends.world.core import Service
from servers.backends.world.flights import flights
from servers.backends.world.forge import forge
from servers.backends.world.mail import mail
from servers.backends.world.payments import payments
from servers.backends.world.weather import weather

SERVICES: tuple[Service, ...] = (weather, forge, flights, payments, mail, bookings)
