import {
  type ArgumentsHost,
  Body,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  Post,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { Revisioned } from '../../src/http/request/routes';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { SampleModule, SampleRequest } from './sample.module';
import { send } from '../support/application/send';

class Brewing extends Error {}

/** Refuses depending on the body, which has been read by then, but not validated. */
@Injectable()
class BodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<Request<unknown, unknown, { name?: unknown }>>().body.name !== 'refused';
  }
}

@Injectable()
class GlobalGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<Request>().headers['x-refuse'] === undefined;
  }
}

@Injectable()
class NextRevision implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler<{ revision: number }>): Observable<unknown> {
    return next.handle().pipe(map((answer) => ({ ...answer, id: 'prt_2', revision: answer.revision + 1 })));
  }
}

@Injectable()
class Signature implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    context.switchToHttp().getResponse<Response>().setHeader('X-Signed', 'yes');
    return next.handle();
  }
}

@Catch(Brewing)
class BrewingFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(_error: Brewing, host: ArgumentsHost): void {
    const answer = { id: 'not-made', revision: 1 };
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), answer, 418);
  }
}

@Controller('parts')
class PartsController {
  @Post()
  @Revisioned()
  @UseGuards(BodyGuard)
  @UseInterceptors(NextRevision)
  @UseFilters(BrewingFilter)
  create(@Body() { name }: SampleRequest): unknown {
    if (name === 'tea') throw new Brewing();
    return { id: 'prt_1', revision: 1, name };
  }

  @Get(':number')
  @Revisioned()
  @UseInterceptors(NextRevision)
  find(@Param('number', ParseIntPipe) number: number): unknown {
    return { number, revision: 6 };
  }
}

@Module({
  controllers: [PartsController],
  providers: [
    { provide: APP_GUARD, useClass: GlobalGuard },
    { provide: APP_INTERCEPTOR, useClass: Signature },
  ],
})
class PartsModule {}

describe('A part that a module of others brings', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [PartsModule, SampleModule] });
  });
  afterAll(() => app.close());

  const create = (name: string, more = {}) => send(app, 'POST', '/api/v1/parts', { body: { name, value: 1, ...more } });

  it('runs as a guard after the key is checked, and sees the body once it is valid', async () => {
    expect(await create('refused')).toMatchObject({ status: 403 });
    expect(await create('refused', { value: [] })).toMatchObject({ status: 400 });
    expect(await send(app, 'POST', '/api/v1/parts', { key: null, body: { name: 'refused' } })).toMatchObject({
      status: 401,
    });
  });

  it('applies to our routes as well if it is a global guard or interceptor', async () => {
    const refused = await send(app, 'GET', '/api/v1/samples/1', { headers: { 'X-Refuse': 'yes' } });
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION_DENIED' } } });
    const signed = await send(app, 'GET', '/api/v1/samples/1');
    expect(signed.headers.get('x-signed')).toBe('yes');
    expect(signed.headers.get('etag')).toBe('"3"');
  });

  it('can change the answer as an interceptor before headers are derived from it', async () => {
    const created = await create('a');
    expect(created).toMatchObject({ status: 201, body: { id: 'prt_2', revision: 2, name: 'a' } });
    expect(created.headers.get('location')).toBe('/api/v1/parts/prt_2');
    expect(created.headers.get('etag')).toBe('"2"');
    const current = await send(app, 'GET', '/api/v1/parts/5', { headers: { 'If-None-Match': '"7"' } });
    expect(current).toMatchObject({ status: 304, text: '' });
  });

  it('converts its parameter as a pipe', async () => {
    expect(await send(app, 'GET', '/api/v1/parts/5')).toMatchObject({ status: 200, body: { number: 5, revision: 7 } });
    expect(await send(app, 'GET', '/api/v1/parts/five')).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR' } },
    });
  });

  it('can answer freely as a filter, without the headers of a record', async () => {
    const answer = await create('tea');
    expect(answer).toMatchObject({ status: 418, body: { id: 'not-made', revision: 1 } });
    expect(answer.headers.get('location')).toBeNull();
    expect(answer.headers.get('etag')).toBeNull();
  });
});
