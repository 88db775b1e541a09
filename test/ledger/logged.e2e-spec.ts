import { Controller, Module, Param, Post } from '@nestjs/common';
import { pino } from 'pino';
import { ApplicationLogger } from '../../src/http/logging/logging.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { type Note, Notes, NotesModule } from '../support/application/notes.module';
import { send } from '../support/application/send';

@Controller('notes')
class NotesController {
  constructor(private readonly notes: Notes) {}

  @Post(':slug')
  add(@Param('slug') slug: string): Promise<Note> {
    return this.notes.add(slug);
  }
}

@Module({ imports: [NotesModule], controllers: [NotesController] })
class NotesApiModule {}

describe('A log line of the ledger', () => {
  let app: TestApp;
  const lines: Record<string, unknown>[] = [];

  beforeAll(async () => {
    app = await createTestApp({ modules: [NotesApiModule] });
    const log = pino({}, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
    app.application.useLogger(new ApplicationLogger(log));
  });
  afterAll(() => app.close());

  async function add(slug: string, requestId: string): Promise<number> {
    const headers = { 'X-Request-Id': requestId };
    return (await send(app, 'POST', `/api/v1/notes/${slug}`, { headers })).status;
  }

  it('about a batch has no request id, least of all that of the request that started it', async () => {
    expect(await add('taken', 'earlier')).toBe(201);
    const others = Array.from({ length: 10 }, (_, index) => add(`free-${index}`, `other-${index}`));
    const statuses = await Promise.all([...others.slice(0, 5), add('taken', 'failing'), ...others.slice(5)]);
    expect(statuses).toEqual([...Array<number>(5).fill(201), 500, ...Array<number>(5).fill(201)]);
    const batch = lines.filter(({ context }) => context === 'Ledger');
    expect(batch).toEqual([expect.objectContaining({ msg: expect.stringContaining('A command failed') })]);
    expect(batch[0]).not.toHaveProperty('requestId');
  });

  it('does not prevent lines that a request logs itself from having its id', () => {
    const own = lines.filter(({ requestId }) => requestId !== undefined);
    expect(own).toEqual([expect.objectContaining({ requestId: 'failing', err: expect.anything() })]);
  });
});
