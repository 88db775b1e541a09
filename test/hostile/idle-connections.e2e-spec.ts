import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { ROOT } from '../support/documents/markdown';
import { type StartedProgram, startProgram } from '../support/processes/started-program';

/** Fewer bytes than the bodies of all connections together. */
const LITTLE_MEMORY = { NODE_OPTIONS: '--max-old-space-size=160', RATE_LIMIT: '1000000' };
const CONNECTIONS = 250;
const BODY = JSON.stringify({ type: 'a', name: 'b', properties: { text: 'x'.repeat(900_000) } });

/** Node.js keeps the last request of each connection until the next one comes, which may be a minute later. */
describe('Connections that stay open after a large body', () => {
  let program: StartedProgram;

  beforeAll(async () => {
    program = await startProgram(join(ROOT, 'dist', 'main.js'), LITTLE_MEMORY);
  });
  afterAll(() => program.stop());

  /** Sends the large body over a connection of its own. */
  async function send(agent: Agent, path: string): Promise<number | undefined> {
    const headers = { 'X-API-Key': program.key, 'Content-Type': 'application/json' };
    const sent = request(program.url + path, { agent, method: 'POST', headers }).end(BODY);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await once(answer.resume(), 'end');
    return answer.statusCode;
  }

  it.each([
    ['taken', '/api/v1/entities', 201],
    ['refused', '/api/v1/agents', 400],
  ])('keep none of it: one that was %s', async (_what, path, expected) => {
    const agents = Array.from({ length: CONNECTIONS }, () => new Agent({ keepAlive: true }));
    for (const agent of agents) expect(await send(agent, path)).toBe(expected);
    expect((await program.send('GET', '/api/v1/health')).status).toBe(200);
    agents.forEach((agent) => agent.destroy());
  });
});
