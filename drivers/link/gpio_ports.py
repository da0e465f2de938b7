"""The port of a GPIO device's settings, on this machine's own chip."""

import time

from drivers.gpio.settings import BeamsSettings, PanelSettings
from drivers.link.gpio_edges import EdgePort, TableTime, find_chip
from drivers.link.link import Port, PortError


def monotonic_us(stamp_ns: int) -> int:
    """Give table microseconds where the table's clock is the kernel's monotonic one."""
    return stamp_ns // 1000


def port_for(settings: BeamsSettings | PanelSettings, table_us: TableTime = monotonic_us) -> Port:
    """Give the port of a device's lines; `table_us` maps the kernel's monotonic clock to the table's.

    The libraries are imported here, so that a table without GPIO needs none of them. Raises PortError
    (`no_library`) where they are not installed.
    """
    try:
        from drivers.link import gpio_kernel as kernel  # noqa: PLC0415 - see above

        if isinstance(settings, BeamsSettings):
            return EdgePort(
                settings.chip,
                settings.inputs,
                chips=kernel.chips_of_machine,
                request=kernel.request_line,
                holder=kernel.holder_of,
                table_us=table_us,
                clock_ns=time.monotonic_ns,
            )
        from drivers.link.gpio_panel import PanelPort, lgpio_pins  # noqa: PLC0415 - see above
    except ImportError as error:
        raise PortError("no_library", f"GPIO: {error}") from error
    return PanelPort(
        settings.chip,
        settings.inputs,
        settings.outputs,
        chips=kernel.chips_of_machine,
        pins=lgpio_pins,
        holder=kernel.holder_of,
        table_us=table_us,
        clock_ns=time.monotonic_ns,
    )


def check_hardware(settings: BeamsSettings | PanelSettings) -> None:
    """Find out at the start whether this machine can have such a device at all, before anything is opened.

    Raises PortError where it can't (no_library, no_chip, no_folder, no_factory, no_permission): the table's
    file, unit or installation must be corrected first, and another pin factory is never taken instead.
    """
    port_for(settings)
    from drivers.link.gpio_kernel import chips_of_machine  # noqa: PLC0415 - only where GPIO is used

    chip = find_chip(settings.chip, chips_of_machine)
    if isinstance(settings, PanelSettings):
        from drivers.link.gpio_panel import lgpio_pins  # noqa: PLC0415 - as above

        lgpio_pins(chip)
