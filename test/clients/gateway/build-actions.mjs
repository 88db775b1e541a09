// Prints a line with the actions and refusals of requests for each line with a file of the gateway and requests, as
// JSON: node build-actions.mjs <folder of the built gateway>
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const load = (name) => import(pathToFileURL(`${folder}/${name}.js`).href);
const { parseGatewayFile } = await load('file/gateway-file');
const { matchRequest } = await load('request/match-request');
const { buildAction } = await load('request/build-action');

for await (const line of createInterface({ input: process.stdin })) {
  const { file, requests } = JSON.parse(line);
  const { config } = parseGatewayFile(JSON.stringify(file), 'gateway.json', 'http://127.0.0.1:3000');
  const results = await Promise.all(requests.map((request) => resultOf(config.upstreams[0], request)));
  process.stdout.write(`${JSON.stringify(results)}\n`);
}

async function resultOf(upstream, { method = 'GET', target, headers = [], body = '' }) {
  const match = matchRequest(upstream, { method, target, rawHeaders: headers });
  const result = 'reason' in match ? match : await buildAction(match, Buffer.from(body, 'latin1'), 64 * 1024);
  if ('reason' in result) return { status: result.status, reason: result.reason, message: result.message };
  const { route, resource, parameters, secret } = result;
  return { route: route.match, resource, parameters, secret };
}
