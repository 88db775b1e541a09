import { Database } from '../../src/ledger/database/database';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid } from '../support/application/factories';
import { Note, Notes, NotesModule } from '../support/application/notes.module';
import { onPostgres } from '../support/database/database-kind';

describe('Connections that read', () => {
  let app: TestApp;
  let notes: Notes;

  beforeAll(async () => {
    app = await createTestApp({ modules: [NotesModule] });
    notes = app.application.get(Notes, { strict: false });
    await notes.add('there');
  });
  afterAll(() => app.close());

  it('of an injected repository read committed data, and cannot write', async () => {
    expect(await notes.repository.find()).toMatchObject([{ slug: 'there' }]);
    const note = { id: 'nte_1', createdSequence: 99, slug: 'x', topic: 'x', text: 'x' };
    for (const write of [
      () => notes.repository.save(note),
      () => notes.repository.insert(note),
      () => notes.repository.update({ slug: 'there' }, { text: 'changed' }),
      () => notes.repository.delete({ slug: 'there' }),
      () => notes.repository.query(`UPDATE notes SET text = 'changed'`),
      () => notes.repository.manager.transaction((manager) => manager.delete(Note, { slug: 'there' })),
    ]) {
      await expect(write()).rejects.toThrow(onPostgres ? /read-only transaction/ : /readonly/);
    }
    expect(await notes.repository.find()).toMatchObject([{ slug: 'there', text: '' }]);
  });

  it('of the service cannot write either, by any statement', async () => {
    const database = app.application.get(Database);
    for (const connection of [database.points, database.lists, database.chain]) {
      if (!onPostgres) await connection.all('PRAGMA query_only = OFF');
      for (const sql of [
        `UPDATE notes SET text = 'changed'`,
        'DELETE FROM ledger_entries',
        'DROP TABLE notes',
        'CREATE TABLE more (id text)',
        onPostgres ? 'DROP INDEX notes' : 'PRAGMA user_version = 7',
      ]) {
        await expect(connection.all(sql)).rejects.toMatchObject({
          driverCode: onPostgres ? '25006' : 'SQLITE_READONLY',
        });
      }
    }
    await chainIsValid(app);
  });
});
