import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Agent, get, type IncomingMessage, type Server } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { shutDown } from './shut-down';
import { ShutdownGate } from './shutdown-gate';
import { ShutdownGuard } from './shutdown.guard';
import { ShutdownModule } from './shutdown.module';

@Controller()
class WorkController {
  constructor(private readonly gate: ShutdownGate) {}

  @Get('quick')
  quick(): string {
    return 'done';
  }

  @Get('slow')
  async slow(): Promise<string> {
    await sleep(600);
    return 'done';
  }

  @Get('watching')
  async watching(): Promise<string> {
    await once(this.gate.signal, 'abort');
    return 'cut short';
  }
}

@Module({
  imports: [ShutdownModule],
  controllers: [WorkController],
  providers: [{ provide: APP_GUARD, useClass: ShutdownGuard }],
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

  async function ask(path: string, through: Agent = agent): Promise<Answer> {
    const [response] = (await once(get(`${url}/${path}`, { agent: through }), 'response')) as [IncomingMessage];
    const chunks = await response.setEncoding('utf8').toArray();
    return { status: response.statusCode, connection: response.headers.connection, text: chunks.join('') };
  }

  it('answers what it has received and ends the connection', async () => {
    const answer = ask('slow');
    await sleep(100);
    await shutDown(application);
    expect(await answer).toEqual({ status: 200, connection: 'close', text: 'done' });
  });

  // Without the service's exception filter, which this small application lacks, a refusal is a 500.
  it('refuses what arrives on a kept connection', async () => {
    expect(await ask('quick')).toMatchObject({ status: 200, connection: 'keep-alive' });
    const stopped = shutDown(application);
    expect(await ask('quick')).toMatchObject({ status: 500, connection: 'close' });
    await stopped;
  });

  it('tells long work to end', async () => {
    const answer = ask('watching');
    await sleep(100);
    await shutDown(application);
    expect(await answer).toMatchObject({ status: 200, text: 'cut short' });
  });

  it('lets nobody connect any more while it still answers', async () => {
    const answer = ask('slow');
    await sleep(100);
    const stopped = shutDown(application);
    await sleep(350);
    await expect(ask('quick', new Agent())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await stopped;
    expect(await answer).toMatchObject({ status: 200 });
  });

  it('is not held up by connections that ask nothing', async () => {
    await ask('quick');
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
