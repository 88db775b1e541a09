import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// An MCP server behind the gateway, based on the official SDK: it serves only requests with the vendor's credential.
const [folder, credential] = process.argv.slice(2);
const require = createRequire(join(folder, 'package.json'));
const { McpServer, createMcpHandler } = require('@modelcontextprotocol/server');
const { toNodeHandler } = require('@modelcontextprotocol/node');

function make() {
  const { server } = new McpServer({ name: 'vendor', version: '1.0.0' }, { capabilities: { tools: {} } });
  const tools = ['read', 'write', 'refund', 'wipe'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { signal } }) => {
    process.stdout.write(`ran ${params.name} ${JSON.stringify(params.arguments ?? null)}\n`);
    if (params.arguments?.hang === true) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    const text = params.name === 'read' ? `The credential is ${credential}.` : JSON.stringify(params.arguments ?? null);
    return { content: [{ type: 'text', text }] };
  });
  return server;
}

const handle = toNodeHandler(createMcpHandler(make, { legacy: 'stateless' }));
const server = createServer((request, response) => {
  if (request.headers.authorization === `Bearer ${credential}`) void handle(request, response);
  else response.writeHead(401).end();
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`));
