// Prints the actions and refusals of requests: node build-actions.mjs <folder of the built gateway>, with the file of
// the gateway and the requests as JSON on the standard input.
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const load = (name) => import(pathToFileURL(`${folder}/${name}.js`).href);
const { parseGatewayFile } = await load('file/gateway-file');
const { matchRequest } = await load('request/match-request');
const { buildAction } = await load('request/build-action');

const { file, requests } = JSON.parse(await text(process.stdin));
const { config } = parseGatewayFile(JSON.stringify(file), 'gateway.json', 'http://127.0.0.1:3000');
const resultOf = async ({ method = 'GET', target, headers = [], body = '' }) => {
  const match = matchRequest(config.upstreams[0], { method, target, rawHeaders: headers });
  const result = 'reason' in match ? match : await buildAction(match, Buffer.from(body, 'latin1'), 64 * 1024);
  if ('reason' in result) return { status: result.status, reason: result.reason, message: result.message };
  const { route, resource, parameters, secret } = result;
  return { route: route.match, resource, parameters, secret };
};
const results = await Promise.all(requests.map(resultOf));
process.stdout.write(JSON.stringify(results));
