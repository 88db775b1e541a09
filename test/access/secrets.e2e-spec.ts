import { Controller, Get, Logger, Module } from '@nestjs/common';
import { API_KEY } from '../support/application/api-key';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent } from '../support/application/factories';
import { knownSecrets, takeLeaks, watch } from '../support/application/secret-watch';
import { send, sendRaw } from '../support/application/send';
import { wire } from '../support/application/wire';

const PREVIOUS_KEY = 'the-key-of-before-the-rotation';

/** Leaks keys, as nothing in the service does. */
@Controller('careless')
class CarelessController {
  private readonly logger = new Logger(CarelessController.name);

  @Get()
  tell(): object {
    this.logger.warn(`The key is ${PREVIOUS_KEY}.`);
    return { key: API_KEY };
  }
}

@Module({ controllers: [CarelessController] })
class CarelessModule {}

/** All other tests look for secrets in the same way, through `no-leaks.ts`; here there are some to be found. */
describe('A leaked secret', () => {
  it('is found in an answer, in the log (even masked) and in the audit trail', async () => {
    const app = await createTestApp({ modules: [CarelessModule], environment: { API_KEY_PREVIOUS: PREVIOUS_KEY } });
    await send(app, 'GET', '/api/v1/careless');
    expect(takeLeaks()).toEqual([
      expect.stringMatching(/^log, masked: .*The key is \[key\]/),
      expect.stringMatching(/^GET \/api\/v1\/careless: .*"key":"\[here\]$/),
    ]);
    const { id } = await createAgent(app, { name: 'bot' });
    await send(app, 'POST', `/api/v1/agents/${id}/suspend`, { body: { reason: `It knew ${PREVIOUS_KEY}.` } });
    expect(takeLeaks()).toEqual([]);
    await app.close();
    expect(takeLeaks()).toEqual(['audit: agent.suspended, sequence 2']);
  });

  it('is masked in the log if a request contains it percent-encoded', async () => {
    const app = await createTestApp({ environment: { API_KEY_PREVIOUS: PREVIOUS_KEY } });
    const encoded = (key: string): string => [...Buffer.from(key)].map((byte) => `%${byte.toString(16)}`).join('');
    const forms = [API_KEY, PREVIOUS_KEY].flatMap((key) => [
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
      const path = /^log, masked: .*"path":"(?:[^"]*\/entities\/\[key\](#\[key\])?|\[key\])"/;
      for (const line of lines) expect(line).toMatch(path);
    }
    await app.close();
    expect(takeLeaks()).toEqual([]);
  });

  it('may also be the signing key that the service generated', async () => {
    const app = await createTestApp();
    const [key = ''] = knownSecrets().filter((secret) => /^[A-Za-z0-9+/]{43}=$/.test(secret));
    expect(key).not.toBe('');
    watch('log', `signed with ${key}`);
    expect(takeLeaks()).toEqual(['log: signed with [here]']);
    await app.close();
  });

  it('is found in the output of a program', async () => {
    const app = await createTestApp();
    watch('printed', `API_KEY=${API_KEY}`);
    expect(takeLeaks()).toEqual(['printed: API_KEY=[here]']);
    await app.close();
  });
});
