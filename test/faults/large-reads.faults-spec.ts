import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import type { StartedProgram } from '../support/processes/started-program';
import { AS_IMAGE, highestMemory, startIn } from './support/surroundings';

const RECORDS = 160;
/** Characters of a record's content; one of them makes the program keep two bytes for each. */
const CONTENT = `Ā${'x'.repeat(1_040_000)}`;

describe('Run as by the image, with many records of a megabyte, the service', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;

  beforeAll(async () => {
    database = await temporaryDatabase();
    program = await startIn(AS_IMAGE, database, { RATE_LIMIT: '1000000' });
  });
  afterAll(async () => {
    await program.stop('SIGKILL');
    await database.remove();
  });

  async function create(index: number): Promise<string> {
    const body = JSON.stringify({ type: 'large', name: `${index}`, properties: { text: CONTENT } });
    const headers = { 'X-API-Key': program.key, 'Content-Type': 'application/json' };
    const answer = await fetch(`${program.url}/api/v1/entities`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return `${program.url}${answer.headers.get('location')}`;
  }

  async function read(url: string): Promise<{ status: number; bytes: number }> {
    const answer = await fetch(url, { headers: { 'X-API-Key': program.key } });
    return { status: answer.status, bytes: (await answer.arrayBuffer()).byteLength };
  }

  it('stays within its memory while all of them are read at once', async () => {
    const urls: string[] = [];
    for (let index = 0; index < RECORDS; index += 1) urls.push(await create(index));
    const answers = await Promise.all(urls.map(read));
    // Answers that the client reads slowly may be refused: a client may use half of the memory for answers.
    const whole = answers.filter(({ status, bytes }) => status === 200 && bytes > CONTENT.length);
    const refused = answers.filter(({ status }) => status === 503);
    expect(whole.length + refused.length).toBe(RECORDS);
    expect(whole.length).toBeGreaterThan(8);
    expect(highestMemory(program)).toBeLessThan(AS_IMAGE.memory);
    expect(program.process.exitCode).toBeNull();
  });
});
