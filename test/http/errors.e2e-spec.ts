import {
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  HttpException,
  ImATeapotException,
  InternalServerErrorException,
  Module,
  NotFoundException,
  Param,
  ServiceUnavailableException,
} from '@nestjs/common';
import { conflict, DomainError, permissionDenied, policyDenied, unavailable } from '../../src/core/errors/domain-error';
import { ERRORS, type ErrorCode } from '../../src/core/errors/error-codes';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { type Answer, send } from '../support/application/send';

const POLICY = { id: 'pol_1', name: 'no-mail', version: '1.0' };

const THROWN: Readonly<Record<string, () => unknown>> = {
  conflict: () => conflict('The name is taken.'),
  denied: () => permissionDenied('capability_missing', 'The agent lacks the capability "mail".'),
  policy: () => policyDenied(POLICY, 'Policy no-mail denies it.'),
  unavailable: () => unavailable('The disk is full.', 7),
  'nest-404': () => new NotFoundException('The widget was not found.'),
  'nest-403': () => new ForbiddenException('Not you.'),
  'nest-409': () => new ConflictException(),
  'nest-503': () => new ServiceUnavailableException('Later.'),
  'nest-418': () => new ImATeapotException('A teapot.'),
  'nest-500': () => new InternalServerErrorException('SELECT secret FROM /etc/passwd'),
  'nest-599': () => new HttpException('inner detail', 599),
  error: () => Object.assign(new Error('SQLITE_ERROR: SELECT secret FROM /etc/passwd'), { query: 'SELECT secret' }),
  'error-400': () => Object.assign(new Error('inner detail'), { status: 400 }),
  text: () => 'a thrown text',
  nothing: () => undefined,
};

@Controller('failures')
class FailuresController {
  @Get(':kind')
  fail(@Param('kind') kind: string): never {
    const code = kind as ErrorCode;
    if (code in ERRORS) throw new DomainError(code, 'One of each.');
    throw THROWN[kind]?.();
  }
}

@Module({ controllers: [FailuresController] })
class FailuresModule {}

describe('An error', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [FailuresModule] });
  });
  afterAll(() => app.close());

  function fail(kind: string): Promise<Answer> {
    return send(app, 'GET', `/api/v1/failures/${kind}`);
  }

  it.each(Object.entries(ERRORS).map(([code, { status }]) => [code, status] as const))(
    '%s has the status %d and the common shape',
    async (code, status) => {
      const answer = await fail(code);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      const requestId = answer.headers.get('x-request-id');
      expect(answer.body).toEqual({ error: { code, message: 'One of each.', requestId } });
    },
  );

  it.each([
    ['conflict', 409, 'CONFLICT', 'The name is taken.'],
    ['nest-404', 404, 'NOT_FOUND', 'The widget was not found.'],
    ['nest-403', 403, 'PERMISSION_DENIED', 'Not you.'],
    ['nest-409', 409, 'CONFLICT', 'Conflict'],
    ['nest-503', 503, 'UNAVAILABLE', 'Later.'],
    ['nest-418', 400, 'VALIDATION_ERROR', 'A teapot.'],
    ['error-400', 400, 'VALIDATION_ERROR', 'The request is malformed.'],
  ])('of a module is mapped: %s', async (kind, status, code, message) => {
    const answer = await fail(kind);
    expect(answer.status).toBe(status);
    expect(answer.body.error).toMatchObject({ code, message });
  });

  it.each(['error', 'text', 'nothing', 'nest-500', 'nest-599'])(
    'that is unforeseen is reported in one neutral sentence: %s',
    async (kind) => {
      const answer = await fail(kind);
      expect(answer.status).toBe(500);
      expect(answer.body.error).toEqual({
        code: 'INTERNAL_ERROR',
        message: expect.stringMatching(/^The service could not answer this request .*\.$/),
        requestId: answer.headers.get('x-request-id'),
      });
      expect(answer.text).not.toMatch(/SELECT|secret|detail|passwd|\.ts|at /);
    },
  );

  it('has a reason for machines if it denies', async () => {
    expect((await fail('denied')).body.error.reason).toBe('capability_missing');
    expect((await fail('policy')).body.error).toMatchObject({ reason: 'policy_denied', policy: POLICY });
  });

  it('says when a retry makes sense', async () => {
    const answer = await fail('unavailable');
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('7');
  });
});

describe('A request id', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [FailuresModule] });
  });
  afterAll(() => app.close());

  async function idFor(requestId: string): Promise<string | null> {
    const answer = await send(app, 'GET', '/api/v1/failures/conflict', { headers: { 'X-Request-Id': requestId } });
    expect(answer.body.error.requestId).toBe(answer.headers.get('x-request-id'));
    return answer.headers.get('x-request-id');
  }

  it.each([API_KEY, `a.${API_KEY}`])('is not the key: %s', async (requestId) => {
    expect(await idFor(requestId)).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(['a', 'A-Z_0.9', 'x'.repeat(128)])('is the one the client gave: %s', async (requestId) => {
    expect(await idFor(requestId)).toBe(requestId);
  });

  it.each(['', ' ', 'a b', 'x'.repeat(129), 'a,b', 'é', '<script>', 'a/b'])(
    'is generated if the one sent is unusable: %j',
    async (requestId) => {
      const id = await idFor(requestId);
      expect(id).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
      expect(id).not.toBe(requestId);
    },
  );
});
