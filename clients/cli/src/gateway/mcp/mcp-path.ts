/** Path at which the gateway serves an MCP server, below the address of the upstream at the gateway. */
export const MCP_PATH = '/mcp';
