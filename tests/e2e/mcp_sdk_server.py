#!/usr/bin/env python3
"""A server made with MCP's Python SDK, for mcp_test.py: on stdin and stdout, or over HTTP.

Usage: mcp_sdk_server.py stdio | http PORT [json|stateless]
"""
import asyncio
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import ResourceLink

server = MCPServer("sdk-server", version="1.0")
stopped = []


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Returns a text."""
    return text


@server.tool()
def point(x: float) -> dict[str, float]:
    """Gives a structured answer."""
    return {"x": x, "y": 2 * x}


@server.tool()
def picture() -> Image:
    """Gives an image."""
    return Image(data=b"12345", format="png")


@server.tool(structured_output=False)
def link() -> list:
    """Gives a link."""
    return [ResourceLink(type="resource_link", uri="file:///a", name="a", description="a file")]


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it is broken")


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    """Waits, and reports progress."""
    try:
        for step in range(10):
            await ctx.report_progress(step, 10)
            await asyncio.sleep(seconds / 10)
    except asyncio.CancelledError:
        stopped.append("slow")
        raise
    return "waited"


@server.tool()
def what_was_stopped() -> str:
    """Says which calls were cancelled."""
    return ",".join(stopped)


def grown(n: int) -> int:
    """A tool that was not there at first."""
    return n


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool and says so."""
    server.add_tool(grown)
    await ctx.warning("one more")
    await ctx.session.send_tool_list_changed()
    return "grown"


def main():
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    kind = sys.argv[3] if len(sys.argv) > 3 else ""
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]),
               json_response=kind == "json", stateless_http=kind == "stateless")


main()
