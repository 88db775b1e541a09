import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { EventEmitter, once } from 'node:events';
import { Agent, get, type IncomingMessage, type Server } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { shutDown, ShutdownGuard } from './shutdown';

/** Emits `begun` when a request is being served; emitting `end` lets it finish. */
const work = new EventEmitter();

@Controller()
class WorkController {
  constructor(private readonly gate: ShutdownGuard) {}

  @Get('quick')
  quick(): string {
    return 'done';
  }

  @Get('long')
  async long(): Promise<string> {
    work.emit('begun');
    await once(work, 'end');
    return 'done';
  }

  @Get('watching')
  async watching(): Promise<string> {
    work.emit('begun');
    await once(this.gate.signal, 'abort');
    return 'cut short';
  }
}

@Module({
  controllers: [WorkController],
  providers: [ShutdownGuard, { provide: APP_GUARD, useExisting: ShutdownGuard }],
})
class WorkModule {}

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly text: string;
}

describe('shutDown', () => {
  let application: INestApplication<Server>;
  let url: string;
  let agent: Agent;

  beforeEach(async () => {
    const module = await Test.createTestingModule({ imports: [WorkModule] }).compile();
    application = module.createNestApplication<INestApplication<Server>>({ logger: false });
    await application.listen(0, '127.0.0.1');
    url = await application.getUrl();
    agent = new Agent({ keepAlive: true, maxSockets: 1 });
  });

  afterEach(() => agent.destroy());

  async function send(path: string, through: Agent = agent): Promise<Answer> {
    const [response] = (await once(get(`${url}/${path}`, { agent: through }), 'response')) as [IncomingMessage];
    const chunks = await response.setEncoding('utf8').toArray();
    return { status: response.statusCode, connection: response.headers.connection, text: chunks.join('') };
  }

  /** Sends a request, and waits until it is being served. */
  async function startWork(path: string): Promise<{ answer: Promise<Answer> }> {
    const begun = once(work, 'begun');
    const answer = send(path);
    await begun;
    return { answer };
  }

  it('answers what it has received and ends the connection', async () => {
    const { answer } = await startWork('long');
    const stopped = shutDown(application);
    work.emit('end');
    expect(await answer).toEqual({ status: 200, connection: 'close', text: 'done' });
    await stopped;
  });

  // This small application lacks the service's exception filter, so a refusal is a 500.
  it('refuses what arrives on a kept connection', async () => {
    expect(await send('quick')).toMatchObject({ status: 200, connection: 'keep-alive' });
    application.get(ShutdownGuard).close();
    expect(await send('quick')).toMatchObject({ status: 500, connection: 'close' });
    await shutDown(application);
  });

  it('signals long-running work to end', async () => {
    const { answer } = await startWork('watching');
    await shutDown(application);
    expect(await answer).toMatchObject({ status: 200, text: 'cut short' });
  });

  it('accepts no new connections while it still answers', async () => {
    const { answer } = await startWork('long');
    const stopped = shutDown(application);
    while (application.getHttpServer().listening) await sleep(10);
    await expect(send('quick', new Agent())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    work.emit('end');
    expect(await answer).toMatchObject({ status: 200 });
    await stopped;
  });

  it('is not delayed by idle connections', async () => {
    await send('quick');
    const silent = connect(Number(new URL(url).port), '127.0.0.1');
    await once(silent, 'connect');
    silent.write('GET /quick HTTP/1.1\r\n');
    const begin = Date.now();
    await Promise.all([
      shutDown(application),
      once(
        silent.resume().on('error', () => undefined),
        'close',
      ),
    ]);
    expect(Date.now() - begin).toBeLessThan(2_000);
  });
});
