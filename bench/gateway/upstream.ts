import { createServer } from 'node:http';
import { Readable } from 'node:stream';

/**
 * The system behind a gateway. It answers with a few bytes, and below `/large` with as many mebibytes as the path says.
 */

const BODY = JSON.stringify({ id: 'inv_1042', status: 'sent' });
const CHUNK = Buffer.alloc(65_536, 'x');

const server = createServer((request, response) => {
  request.resume();
  const [, megabytes] = /^\/large\/(\d+)$/.exec(request.url ?? '') ?? [];
  if (megabytes === undefined) {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': BODY.length }).end(BODY);
    return;
  }
  const bytes = Number(megabytes) * 2 ** 20;
  response.writeHead(200, { 'Content-Type': 'application/octet-stream', 'Content-Length': bytes });
  Readable.from(chunks(bytes / CHUNK.length)).pipe(response);
});
server.keepAliveTimeout = 65_000;
server.listen(Number(process.env['PORT']), '127.0.0.1');

function* chunks(count: number): Generator<Buffer> {
  for (let index = 0; index < count; index += 1) yield CHUNK;
}
