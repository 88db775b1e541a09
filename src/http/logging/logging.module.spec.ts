import {
  Controller,
  Get,
  Logger,
  Module,
  Param,
  Req,
  ServiceUnavailableException,
  type ExecutionContext,
} from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import type { Application } from 'express';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { ConfigurationModule } from '../../core/config/configuration.module';
import type { Environment } from '../../core/config/variables/variable';
import { noteArrival } from '../request/arrival';
import { createHttpServer, TURN } from '../server/http-server';
import { routeTemplate } from '../request/routes';
import type { Exchange, ServiceRequest } from '../request/service-request';
import { LoggingModule, ApplicationLogger } from './logging.module';

const KEY = 'a-key-that-is-long-enough';

@Controller('things')
class ThingsController {
  private readonly logger = new Logger(ThingsController.name);

  @Get(':id')
  find(@Param('id') id: string): { id: string } {
    this.logger.warn(`looking for ${id}`);
    return { id };
  }

  @Get(':id/slowly')
  async findSlowly(@Param('id') id: string): Promise<{ id: string }> {
    await new Promise((resolve) => setTimeout(resolve, 30));
    this.logger.log({ msg: `found ${id}`, requestId: id });
    return { id };
  }

  /** Simulates a client that leaves before it is answered. */
  @Get(':id/leave')
  leave(@Req() { socket }: ServiceRequest): Promise<never> {
    socket.destroy();
    return new Promise(() => undefined);
  }

  @Get(':id/failure')
  fail(): never {
    this.logger.error({ err: Object.assign(new Error('no disk'), { query: 'SELECT secret' }) });
    throw new ServiceUnavailableException();
  }
}

@Module({ controllers: [ThingsController] })
class ThingsModule {}

/** Express on the service's server, whose turns are logged. */
class TurnsAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    this.httpServer = createHttpServer().on(TURN, this.getInstance<Application>());
  }
}

/** Notes the template as the service's first guard does. */
function noteTemplate(context: ExecutionContext): boolean {
  const [request] = context.getArgs<Exchange>();
  request.template = routeTemplate(request);
  return true;
}

describe('LoggingModule', () => {
  const lines: Record<string, unknown>[] = [];
  const texts: string[] = [];
  const applications: NestExpressApplication[] = [];

  async function start(environment: Environment): Promise<string> {
    const stream = { write: (text: string) => lines.push(JSON.parse(text)) && texts.push(text) };
    const imports = [
      await ConfigurationModule.forRoot({ API_KEY: KEY, ...environment }),
      LoggingModule.to(stream),
      ThingsModule,
    ];
    const module = await Test.createTestingModule({ imports }).compile();
    const application = module.createNestApplication<NestExpressApplication>(new TurnsAdapter(), { bufferLogs: true });
    application.useLogger(application.get(ApplicationLogger));
    application.use(noteArrival);
    application.useGlobalGuards({ canActivate: noteTemplate });
    applications.push(application);
    await application.listen(0, '127.0.0.1');
    return application.getUrl();
  }

  /** The response arrives before its line is written. */
  const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

  beforeEach(() => {
    lines.splice(0);
    texts.splice(0);
  });
  afterEach(() => Promise.all(applications.splice(0).map((application) => application.close())));

  it('writes one line for a request, with its id', async () => {
    const url = await start({});
    lines.splice(0);
    await request(url).get('/things/7?filter=private').set('X-Request-Id', 'r-1').set('X-API-Key', KEY).expect(200);
    await settled();
    expect(lines).toEqual([
      { level: 'warn', time: expect.any(String), context: 'ThingsController', msg: 'looking for 7' },
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        requestId: 'r-1',
        method: 'GET',
        route: '/things/:id',
        path: '/things/7',
        status: 200,
        durationMs: expect.any(Number),
        ip: '127.0.0.1',
        msg: 'request completed',
      },
    ]);
  });

  it('distinguishes requests that are served at the same time, and has each id once', async () => {
    const url = await start({});
    lines.splice(0);
    texts.splice(0);
    const ids = ['r-1', 'r-2', 'r-3'];
    await Promise.all(ids.map((id) => request(url).get(`/things/${id}/slowly`).set('X-Request-Id', id).expect(200)));
    await settled();
    const logged = lines.filter(({ context }) => context === 'ThingsController');
    expect(logged.map(({ msg }) => msg).sort()).toEqual(ids.map((id) => `found ${id}`));
    expect(
      lines
        .filter(({ context }) => context === undefined)
        .map(({ requestId }) => requestId)
        .sort(),
    ).toEqual(ids);
    expect(texts.map((text) => text.split('"requestId":').length - 1)).toEqual(texts.map(() => 1));
  });

  it('names the trace that a request belongs to', async () => {
    const url = await start({});
    lines.splice(0);
    const traceId = 'a'.repeat(32);
    for (const traceparent of [`00-${traceId}-${'b'.repeat(16)}-01`, 'not one'])
      await request(url).get('/things/7').set('traceparent', traceparent).expect(200);
    await settled();
    const requests = lines.filter(({ context }) => context === undefined);
    expect(requests.map((line) => line['traceId'])).toEqual([traceId, undefined]);
  });

  it('reports no status for a request whose client left', async () => {
    const url = await start({});
    lines.splice(0);
    await expect(request(url).get('/things/7/leave')).rejects.toThrow();
    while (lines.length === 0) await settled();
    expect(lines).toMatchObject([{ status: null, msg: 'request aborted', level: 'info' }]);
  });

  it('accepts a message, its parameters, an error, or an error as two texts', async () => {
    await start({});
    lines.splice(0);
    const logger = new Logger('Things');
    logger.warn('100 %s is not a format');
    logger.error({ err: new Error('no disk'), thing: 7 }, 'The thing is gone.');
    logger.error(new Error('no disk'));
    logger.error('no disk', 'Error: no disk\n    at somewhere');
    const err = { type: 'Error', message: 'no disk', stack: expect.stringContaining('at ') };
    expect(lines).toEqual(
      [
        { level: 'warn', msg: '100 %s is not a format' },
        { level: 'error', thing: 7, err, msg: 'The thing is gone.' },
        { level: 'error', err, msg: 'no disk' },
        { level: 'error', err, msg: 'no disk' },
      ].map((line) => ({ ...line, time: expect.any(String), context: 'Things' })),
    );
  });

  it('has no route for a request that matches none', async () => {
    await request(await start({}))
      .get('/nothing')
      .expect(404);
    await settled();
    expect(lines.at(-1)).toMatchObject({ route: null, path: '/nothing', status: 404, level: 'info' });
  });

  it('writes a failure as an error, once with its cause and without its statement', async () => {
    await request(await start({}))
      .get('/things/7/failure')
      .expect(503);
    await settled();
    const [cause, line] = lines.slice(-2);
    expect(cause).toMatchObject({
      level: 'error',
      err: { type: 'Error', message: 'no disk', stack: expect.any(String) },
    });
    expect(line).toMatchObject({ level: 'warn', status: 503, msg: 'request refused' });
    expect(line).not.toHaveProperty('err');
    expect(JSON.stringify(lines)).not.toContain('SELECT');
  });

  it('never writes the key', async () => {
    await request(await start({}))
      .get(`/things/${KEY}?key=${KEY}`)
      .set('X-API-Key', KEY)
      .expect(200);
    await settled();
    expect(lines.at(-1)).toMatchObject({ path: '/things/[key]' });
    expect(JSON.stringify(lines)).not.toContain(KEY);
  });

  it('leaves out a long path, which would take long to search for keys', async () => {
    await request(await start({}))
      .get(`/nothing/${'n'.repeat(1024)}`)
      .expect(404);
    await settled();
    expect(lines.at(-1)).toMatchObject({ path: null, status: 404 });
  });

  it.each([
    ['silent', 0],
    ['error', 0],
    ['warn', 1],
    ['info', 2],
  ])('honours LOG_LEVEL=%s', async (level, expected) => {
    const url = await start({ LOG_LEVEL: level });
    lines.splice(0);
    await request(url).get('/things/7').expect(200);
    await settled();
    expect(lines).toHaveLength(expected);
  });

  it('does not log each route at the start', async () => {
    await start({});
    expect(lines.filter(({ context }) => context === 'RouterExplorer')).toEqual([]);
  });
});
