import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { SampleModule } from '../sample.module';
import { sendRaw } from '../../support/application/send';
import { exchange } from '../../support/application/wire';

const FIFTY_MEGABYTES = 50 * 2 ** 20;
const CHUNK = Buffer.alloc(2 ** 16, ' ');
/** Milliseconds for which the service reads from a client that keeps sending. */
const LINGER = 1_000;

describe('A body that is not read', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [SampleModule] });
  });
  afterAll(() => app.close());

  /** Uploads like a plain Node client: writes while the socket accepts data, and reads the answer when it arrives. */
  async function upload(
    method: string,
    headers: Record<string, string | number>,
  ): Promise<{ answer: object; bytes: number }> {
    const { hostname, port } = new URL(app.url);
    const sending = request({ hostname, port, method, path: '/api/v1/samples', headers });
    let bytes = 0;
    let isOver = false;
    const write = (): void => {
      while (!isOver && bytes < FIFTY_MEGABYTES) {
        bytes += CHUNK.length;
        if (!sending.write(CHUNK)) return;
      }
      if (!isOver) sending.end();
    };
    sending.on('drain', write);
    sending.on('error', () => (isOver = true));
    write();
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    isOver = true;
    sending.destroy();
    const body = JSON.parse(Buffer.concat(chunks).toString());
    return {
      answer: { status: response.statusCode, connection: response.headers.connection, code: body.error.code },
      bytes,
    };
  }

  it('does not prevent a client without a key from receiving its 401', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': FIFTY_MEGABYTES };
    const { answer, bytes } = await upload('POST', headers);
    expect(answer).toEqual({ status: 401, connection: 'close', code: 'UNAUTHORIZED' });
    expect(bytes).toBeLessThan(FIFTY_MEGABYTES / 2);
  });

  it('is refused by its announced length', async () => {
    const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-length': FIFTY_MEGABYTES };
    const { answer, bytes } = await upload('POST', headers);
    expect(answer).toEqual({ status: 413, connection: 'close', code: 'PAYLOAD_TOO_LARGE' });
    expect(bytes).toBeLessThan(FIFTY_MEGABYTES / 2);
  });

  it('is refused by what has arrived if its length is not announced', async () => {
    const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const { answer, bytes } = await upload('POST', headers);
    expect(answer).toEqual({ status: 413, connection: 'close', code: 'PAYLOAD_TOO_LARGE' });
    expect(bytes).toBeLessThan(FIFTY_MEGABYTES / 2);
  });

  it('is discarded if it is small, and the connection goes on', async () => {
    const body = 'x'.repeat(40_000);
    const head = (line: string, key = API_KEY): string =>
      `${line} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: text/plain\r\n`;
    const sized = `Content-Length: ${body.length}\r\n\r\n${body}`;
    const requests = [
      head('POST /api/v1/samples', 'wrong') + sized,
      head('PUT /api/v1/samples') + sized,
      head('POST /api/v1/samples') + sized,
      head('GET /api/v1/samples') + sized,
      `${head('POST /api/v1/samples', 'wrong')}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
      `${head('GET /api/v1/samples')}Connection: close\r\n\r\n`,
    ];
    const answers = await exchange(app, Buffer.from(requests.join('')));
    expect(answers.map(({ status }) => status)).toEqual([401, 405, 415, 200, 401, 200]);
  });

  it('is cut off soon if the client keeps sending, and little of it is read', async () => {
    const connection = once(app.application.getHttpServer(), 'connection') as Promise<[Socket]>;
    const { hostname, port } = new URL(app.url);
    const client = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    client.on('error', () => undefined);
    client.write('POST /api/v1/samples HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const flood = setInterval(() => client.write(`${CHUNK.length.toString(16)}\r\n${CHUNK.toString()}\r\n`), 1);
    const [socket] = await connection;
    const started = Date.now();
    await once(socket, 'close');
    clearInterval(flood);
    client.destroy();
    expect(Date.now() - started).toBeLessThan(5 * LINGER);
    expect(socket.bytesRead).toBeLessThan(2 * 2 ** 20);
  });

  it('is requested with 100 Continue only if it is going to be read', async () => {
    const head = (key: string): string =>
      `POST /api/v1/samples HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nConnection: close\r\n` +
      'Expect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n';
    expect(await sendRaw(app, `${head(API_KEY)}{"name":"a","value":"b"}`)).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /,
    );
    expect(await sendRaw(app, head('wrong'))).toMatch(/^HTTP\/1\.1 401 /);
  });
});
