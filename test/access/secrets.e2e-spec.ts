import { Controller, Get, Logger, Module } from '@nestjs/common';
import { API_KEY, createTestApp } from '../support/application/create-test-app';
import { createAgent } from '../support/application/factories';
import { knownSecrets, takeLeaks, watch } from '../support/application/secret-watch';
import { send, sendRaw } from '../support/application/send';
import { wire } from '../support/application/wire';

const FORMER_KEY = 'the-key-of-before-the-rotation';

/** Does what nothing in the service does. */
@Controller('careless')
class CarelessController {
  private readonly logger = new Logger(CarelessController.name);

  @Get()
  tell(): object {
    this.logger.warn(`The key is ${FORMER_KEY}.`);
    return { key: API_KEY };
  }
}

@Module({ controllers: [CarelessController] })
class CarelessModule {}

/** Every other test looks for secrets the same way, by `no-leaks.ts`; here they are there to be found. */
describe('A secret that is shown', () => {
  it('in an answer, in the log, even masked, or in the audit trail is found', async () => {
    const app = await createTestApp({ modules: [CarelessModule], environment: { API_KEY_PREVIOUS: FORMER_KEY } });
    await send(app, 'GET', '/api/v1/careless');
    expect(takeLeaks()).toEqual([
      expect.stringMatching(/^log, masked: .*The key is \[key\]/),
      expect.stringMatching(/^GET \/api\/v1\/careless: .*"key":"\[here\]$/),
    ]);
    const { id } = await createAgent(app, { name: 'bot' });
    await send(app, 'POST', `/api/v1/agents/${id}/suspend`, { body: { reason: `It knew ${FORMER_KEY}.` } });
    expect(takeLeaks()).toEqual([]);
    await app.close();
    expect(takeLeaks()).toEqual(['audit: agent.suspended, sequence 2']);
  });

  it('percent-encoded in a request is not in the log as it came', async () => {
    const app = await createTestApp({ environment: { API_KEY_PREVIOUS: FORMER_KEY } });
    const encoded = (key: string): string => [...Buffer.from(key)].map((byte) => `%${byte.toString(16)}`).join('');
    const forms = [API_KEY, FORMER_KEY].flatMap((key) => [
      ...[key, key.replace('k', '%6b'), key.replace('k', '%6B'), encoded(key)],
      ...[
        key.replace('k', '%256b'),
        key.replace('k', '%%36%62'),
        encoded(encoded(key)),
        encoded(encoded(encoded(key))),
      ],
      `%${encoded(key)}`,
    ]);
    for (const form of forms) {
      await send(app, 'GET', `/api/v1/entities/${form}?after=${form}`, {
        headers: { Referer: `http://x/${form}`, 'User-Agent': form },
      });
      await sendRaw(app, wire(`GET http://x/api/v1/entities/${form}?after=${form}#${form} HTTP/1.1`));
      const lines = takeLeaks();
      expect(lines).toHaveLength(2);
      for (const line of lines) expect(line).toMatch(/^log, masked: .*"path":"[^"]*\/entities\/%?\[key\](#\[key\])?"/);
    }
    await app.close();
    expect(takeLeaks()).toEqual([]);
  });

  it('is the signing key that the service has made for itself, too', async () => {
    const app = await createTestApp();
    const [key = ''] = knownSecrets().filter((secret) => /^[A-Za-z0-9+/]{43}=$/.test(secret));
    expect(key).not.toBe('');
    watch('log', `signed with ${key}`);
    expect(takeLeaks()).toEqual(['log: signed with [here]']);
    await app.close();
  });

  it('by a program is found', async () => {
    const app = await createTestApp();
    watch('printed', `API_KEY=${API_KEY}`);
    expect(takeLeaks()).toEqual(['printed: API_KEY=[here]']);
    await app.close();
  });
});
