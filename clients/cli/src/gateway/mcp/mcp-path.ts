/** Path of an MCP server below its upstream. */
export const MCP_PATH = '/mcp';
