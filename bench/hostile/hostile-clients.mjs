/**
 * Attacks the service from one hostile address, in every way at once, for the given time:
 *
 *   node bench/hostile/hostile-clients.mjs URL KEY SECONDS SEED
 *
 * It connects to loopback only. Its last line of output is a JSON object: how often each kind of attack was carried
 * out.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const MEBIBYTE = 1_048_576;
const IDLE = 1_500;
const SLOW = 100;
/** Number of rows of nearly a mebibyte in lists and exports. */
const LARGE_ROWS = 24;
/** Number of requests on one connection whose answers nobody reads. */
const PIPELINED = 90;
/** Milliseconds between the bytes of a slow request. */
const DRIP = 200;

const [url = '', key = '', seconds = '0', seed = '1'] = process.argv.slice(2);
const { hostname, port } = new URL(url);
if (!/^127\./.test(hostname)) throw new Error('Hostile clients attack loopback only.');

const random = seededRandom(Number(seed));
let end = 0;
const counts = {};
const sockets = new Set();

const below = (limit) => Math.floor(random() * limit);
const goesOn = () => performance.now() < end;

function count(kind) {
  counts[kind] = (counts[kind] ?? 0) + 1;
}

/** Mulberry32 by Tommy Ettinger: numbers from 0 to below 1. */
function seededRandom(start) {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Opens a connection; returns null if the service closes it before it is open. */
async function open() {
  const socket = connect(Number(port), hostname);
  sockets.add(socket);
  socket.on('error', () => socket.destroy());
  socket.on('close', () => sockets.delete(socket));
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined);
  return socket.destroyed ? null : socket;
}

function head(line, headers = []) {
  return [line, 'Host: x', `X-API-Key: ${key}`, ...headers, '', ''].join('\r\n');
}

function post(path, body) {
  const headers = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`];
  return head(`POST /api/v1/${path} HTTP/1.1`, headers) + body;
}

/** Sends a request, reads the answer and drops it. Returns the status; null if the connection ended without one. */
async function ask(request) {
  const socket = await open();
  if (socket === null) return null;
  let status = null;
  socket.on('data', (chunk) => (status ??= Number(chunk.toString('latin1', 9, 12))));
  socket.write(request.replace('\r\n', '\r\nConnection: close\r\n'));
  const closed = once(socket, 'close').catch(() => undefined);
  await Promise.race([closed, sleep(20_000, undefined, { ref: false })]);
  socket.destroy();
  return status;
}

const CUT_OFF = [
  () => 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
  () => head('GET /api/v1/health HTTP/1.1', ['Connection: Upgrade', 'Upgrade: websocket']),
  () => head('GET http://[::/ HTTP/1.1'),
  () => '\0\0\0\r\n\r\n',
  () => head('GET /api/v1/stats HTTP/1.1').repeat(5),
  () => head('GET /api/v1/provenance/export HTTP/1.1'),
  () => head('GET /docs HTTP/1.1'),
  () => `${head('POST /api/v1/entities HTTP/1.1', ['Transfer-Encoding: chunked'])}ffff\r\n{`,
  () => post('entities', `{"type":"reset","name":"${'n'.repeat(30_000)}"`),
];

/** Ends connections with a reset, at any moment of a request or its answer. */
async function reset() {
  while (goesOn()) {
    const socket = await open();
    if (socket === null) continue;
    const request = CUT_OFF[below(CUT_OFF.length)]();
    socket.write(request.slice(0, 1 + below(request.length * 2)));
    await sleep(below(20));
    socket.resetAndDestroy();
    count('resets');
  }
}

/** Opens connections, uses each once, and holds them. */
async function idle() {
  const held = new Set();
  while (goesOn()) {
    const socket = held.size < IDLE ? await open() : null;
    if (socket === null) {
      await sleep(50);
      continue;
    }
    held.add(socket);
    socket.on('close', () => held.delete(socket)).resume();
    socket.write(head('GET /docs HTTP/1.1'));
    count('idle connections');
  }
}

/** Sends, byte by byte, a head, or a body that is announced as large. */
async function drip() {
  while (goesOn()) {
    const socket = await open();
    if (socket === null) {
      await sleep(DRIP);
      continue;
    }
    const declared = ['Content-Type: application/json', `Content-Length: ${MEBIBYTE}`];
    socket.resume();
    socket.write(below(2) === 0 ? `GET / HTTP/1.1\r\nX: ` : head('POST /api/v1/entities HTTP/1.1', declared));
    while (goesOn() && !socket.destroyed) {
      socket.write('{');
      await sleep(DRIP);
    }
    count('slow requests');
  }
}

function propertiesOf(keys) {
  return Array.from({ length: keys }, (_unused, index) => `"${index.toString(36)}":1`).join(',');
}

const LARGE_BODIES = [
  () => `{"type":"large","name":"large","properties":{${propertiesOf(100_000)}},"unknown":1}`,
  () => `{"type":"large","name":"large","properties":{"text":"${'x'.repeat(MEBIBYTE - 200)}"},"unknown":1}`,
  () => `{${propertiesOf(105_000)}}`,
  () => '['.repeat(MEBIBYTE),
  () => `{"type":"large","name":"large","properties":{"list":[${'[],'.repeat(300_000)}[]]}}`,
];

/** Sends bodies of the maximum size. The service refuses all of them. */
async function largeBodies() {
  const bodies = LARGE_BODIES.map((make) => make());
  while (goesOn()) {
    await ask(post('entities', bodies[below(bodies.length)]));
    count('large bodies');
  }
}

/** Asks for the largest answers and does not read them. */
async function largeAnswers() {
  const requests = [
    head('GET /api/v1/entities?limit=9 HTTP/1.1').repeat(PIPELINED),
    head('GET /api/v1/provenance/export HTTP/1.1'),
    head('GET /api/v1/entities?limit=100 HTTP/1.1'),
  ];
  while (goesOn()) {
    const socket = await open();
    if (socket === null) {
      await sleep(50);
      continue;
    }
    socket.pause().write(requests[below(requests.length)]);
    await sleep(below(4_000));
    socket.resetAndDestroy();
    count('unread answers');
  }
}

/** Requests exports, and reads them. Six of these loops run at a time. */
async function exports() {
  while (goesOn()) {
    await ask(head('GET /api/v1/provenance/export HTTP/1.1'));
    count('exports');
  }
}

async function verifications() {
  while (goesOn()) {
    await ask(post('provenance/verify', JSON.stringify({ from: 1 + below(40) })));
    count('verifications');
  }
}

function worstPolicy(number, segments) {
  const resources = Array.from({ length: 100 }, (_unused, pattern) =>
    Array.from({ length: segments }, (_none, segment) => `${number}-${pattern}-${segment}`.slice(-4)).join('/'),
  );
  const rules = { effect: 'deny', subjects: ['nobody'], actions: ['nothing'], resources };
  return JSON.stringify({ name: `worst ${number}`, version: '1.0', ...rules });
}

/** Creates policies of the maximum size until the service accepts no more. */
async function policies() {
  for (let number = 0; goesOn(); number += 1) {
    const status = await ask(post('policies', worstPolicy(number, number % 2 === 0 ? 64 : 247)));
    count(status === 201 ? 'policies' : 'refused policies');
    if (status === 409) await sleep(500);
  }
}

const PER = ['hour', 'day', 'week', 'month'];
const LIMITS = [...PER.map((per) => ({ max: 9, per, by: 'agent' })), { max: 9, per: 'day', by: 'policy' }];
const EARLIER = { earlier: 'look-*', resource: 'same', op: 'exists', value: true };
const LISTED = Array.from({ length: 1_000 }, (_unused, index) => ({ resourceId: `invoices/${index}` }));
const QUESTION = { agent: 'multiplier', action: 'pay', resourceType: 'invoice', resourceId: 'invoices/1', run: 'run' };
const ACCESS = {
  subject: { type: 'agent', id: 'multiplier' },
  action: { name: 'pay' },
  context: { run: 'run' },
  evaluations: LISTED.map(({ resourceId: id }) => ({ resource: { type: 'invoice', id } })),
};

/** Short questions whose work the policies multiply: each needs hundreds of limits and earlier actions. */
const QUESTIONS = [
  () => post('policies/evaluate', JSON.stringify({ ...QUESTION, requests: LISTED })),
  () => post('policies/evaluate', JSON.stringify({ ...QUESTION, requests: LISTED, open: true })),
  () => post('policies/evaluate', JSON.stringify({ ...QUESTION, requests: LISTED.slice(0, 50), explain: true })),
  () => post('policies/evaluate', JSON.stringify({ ...QUESTION, explain: true })),
  () => post('access/v1/evaluations', JSON.stringify(ACCESS)).replace('/api/v1/', '/'),
  () => post('agents/multiplier/execute', JSON.stringify({ ...QUESTION, agent: undefined })),
];

/** Sends these questions, three of one kind at a time. */
async function multipliers() {
  while (goesOn()) {
    const make = QUESTIONS[below(QUESTIONS.length)];
    await Promise.all([ask(make()), ask(make()), ask(make())]);
    count('multiplied questions');
  }
}

/** Creates a hundred policies with limits; fifteen of them have twenty conditions each on earlier actions. */
async function prepareMultipliers() {
  await ask(post('agents', JSON.stringify({ name: 'multiplier', capabilities: ['*'] })));
  const everything = { version: '1.0', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
  for (let index = 0; index < 100; index += 1) {
    const conditions = index < 15 ? Array(20).fill(EARLIER) : [];
    const rules = { ...everything, name: `multiplier ${index}`, limits: LIMITS, conditions };
    await ask(post('policies', JSON.stringify(rules)));
  }
}

async function prepare() {
  const body = `{"type":"large","name":"large","properties":{"text":"${'x'.repeat(MEBIBYTE - 200)}"}}`;
  for (let row = 0; row < LARGE_ROWS; row += 1) await ask(post('entities', body));
}

await prepare();
await prepareMultipliers();
// The time begins with the attack: the preparation may take as long on a busy machine.
end = performance.now() + Number(seconds) * 1_000;
await Promise.all([
  ...Array.from({ length: 10 }, reset),
  idle(),
  ...Array.from({ length: SLOW }, drip),
  ...Array.from({ length: 8 }, largeBodies),
  ...Array.from({ length: 8 }, largeAnswers),
  ...Array.from({ length: 6 }, exports),
  ...Array.from({ length: 4 }, verifications),
  ...Array.from({ length: 2 }, multipliers),
  policies(),
]);
sockets.forEach((socket) => socket.destroy());
process.stdout.write(`${JSON.stringify(counts)}\n`);
