import { Controller, Get, Header, HttpCode, Module, StreamableFile } from '@nestjs/common';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';

const TEXT = 'Ünïcödé 日本語 😀 \u2028 "quoted" </script>';
const LONG = { text: TEXT.repeat(100) };

/** Every sort of result that a handler may return. */
@Controller('answers')
class AnswersController {
  @Get('object')
  object(): unknown {
    return { text: TEXT, nothing: null, absent: undefined, list: [1, 2.5, true], when: new Date(0) };
  }

  @Get('list')
  list(): unknown {
    return [{ a: 1 }, null];
  }

  @Get('long')
  long(): unknown {
    return LONG;
  }

  @Get('text')
  text(): string {
    return TEXT;
  }

  @Get('nothing')
  nothing(): undefined {
    return undefined;
  }

  @Get('no-content')
  @HttpCode(204)
  noContent(): unknown {
    return { left: 'out' };
  }

  @Get('typed')
  @Header('Content-Type', 'application/problem+json')
  typed(): unknown {
    return { typed: true };
  }

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Buffer.from('bytes'), { type: 'text/plain' });
  }
}

@Module({ controllers: [AnswersController] })
class AnswersModule {}

describe('Answers', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [AnswersModule] });
  });

  afterAll(() => app.close());

  const get = (name: string, headers = {}) => send(app, 'GET', `/api/v1/answers/${name}`, { headers });

  it('are JSON in UTF-8 with their length', async () => {
    const answer = await get('object');
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)));
    expect(answer.body).toEqual({
      text: TEXT,
      nothing: null,
      list: [1, 2.5, true],
      when: '1970-01-01T00:00:00.000Z',
    });
  });

  it('may be lists, and long', async () => {
    expect((await get('list')).body).toEqual([{ a: 1 }, null]);
    expect((await get('long')).body).toEqual(LONG);
  });

  it('to HEAD have the headers of GET and no body', async () => {
    const [head, answer] = [await send(app, 'HEAD', '/api/v1/answers/object'), await get('object')];
    expect(head.text).toBe('');
    for (const name of ['content-type', 'content-length']) {
      expect(head.headers.get(name)).toBe(answer.headers.get(name));
    }
  });

  it('of a module that does not answer with JSON stay as they are', async () => {
    expect(await get('text')).toMatchObject({ status: 200, text: TEXT });
    expect(await get('nothing')).toMatchObject({ status: 200, text: '' });
    const typed = await get('typed');
    expect(typed.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(typed.body).toEqual({ typed: true });
    expect(await get('file')).toMatchObject({ status: 200, text: 'bytes' });
  });

  it('without content have no body and no headers about one', async () => {
    const answer = await get('no-content');
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers.get('content-type')).toBeNull();
  });
});
