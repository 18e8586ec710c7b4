#!/usr/bin/env python3
"""A server made with MCP's Python SDK, for chat_tools_test.py, with tools of the kind that the
built-in model was trained on. On stdin and stdout.
"""
import time

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("songs", version="1.0")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def find_song(title: str) -> str:
    """Find a song by title."""
    return f"found {title}, 177 seconds"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def play_song(title: str) -> str:
    """Play music by title."""
    return f"playing {title}"


@server.tool()
def lose_song(title: str) -> str:
    """Lose a song by title."""
    raise ValueError(f"{title} is write-protected")


@server.tool()
def wait_song(title: str) -> str:
    """Wait for a song by title."""
    time.sleep(100)
    return title


server.run("stdio")
