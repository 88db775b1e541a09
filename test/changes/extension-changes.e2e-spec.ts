import { Body, Controller, Module, Post } from '@nestjs/common';
import { Caller } from '../../src/http/input/caller.decorator';
import { NeedsSecondPerson, RequiresScope } from '../../src/http/request/routes';
import { addNote, NOTE, Notes, NotesModule } from '../support/application/notes.module';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { verifyChange } from '../evidence/verified-file';
import { approvedChange, changeHeader, FOUR_EYES, type Person, register } from './support';

@Controller('rules')
class RulesController {
  constructor(private readonly notes: Notes) {}

  @Post()
  @RequiresScope('policies')
  @NeedsSecondPerson({ summary: ({ body }) => `Write the rule ${JSON.stringify(body['slug'])}` })
  create(@Caller() caller: Caller, @Body('slug') slug: string): Promise<{ id: string }> {
    return this.notes.ledger.write(caller, (transaction) => Promise.resolve(addNote(transaction, slug)));
  }

  /** Its entries have members of their own that are named as the service's. */
  @Post('charted')
  @RequiresScope('policies')
  @NeedsSecondPerson({ summary: () => 'Write a rule and its chart' })
  chart(@Caller() caller: Caller, @Body('slug') slug: string): Promise<{ id: string }> {
    return this.notes.ledger.write(caller, (transaction) => {
      const note = { id: transaction.newId(NOTE), slug, topic: 'any', text: '' };
      const details = { changeId: 'CHG-7', breakGlass: true, rules: 'of the house' };
      return Promise.resolve(transaction.insert(NOTE, note, { action: 'note.added', details }));
    });
  }
}

@Module({ imports: [NotesModule], controllers: [RulesController] })
class RulesModule {}

describe('A route of a module', () => {
  let app: TestApp;
  let people: Person[];
  beforeAll(async () => {
    app = await createTestApp({ environment: FOUR_EYES, modules: [RulesModule] });
    people = [await register(app, 'ada'), await register(app, 'ben')];
  });
  afterAll(() => app.close());

  it('needs a second person by one decorator', async () => {
    const body = { slug: 'first' };
    const id = await approvedChange(app, ['POST', '/api/v1/rules', { body }], people);
    const made = await send(app, 'POST', '/api/v1/rules', { body, ...changeHeader(id) });
    expect(made).toMatchObject({ status: 201, body: { slug: 'first' } });
    const entries = await send(app, 'GET', `/api/v1/audit?subjectId=${made.body.id}`);
    expect(entries.body.data[0].details).toMatchObject({ changeId: id });
  });

  it('may name members of its entries as the service does, and its change recomputes', async () => {
    const [path, body] = ['/api/v1/rules/charted', { slug: 'charted' }];
    const id = await approvedChange(app, ['POST', path, { body }], people);
    expect((await send(app, 'POST', path, { body, ...changeHeader(id) })).status).toBe(201);
    expect((await verifyChange(app, id)).output).toMatch(/\nRECOMPUTED: made as recorded\n$/);
    const headers = { 'Break-Glass': 'Everybody%20is%20away' };
    expect((await send(app, 'POST', path, { body: { slug: 'at once' }, headers })).status).toBe(201);
    const { data } = (await send(app, 'GET', '/api/v1/decisions?type=change_review')).body;
    expect((await verifyChange(app, data[0].id)).output).toMatch(/\nRECOMPUTED: proposed as recorded\n$/);
  });
});
