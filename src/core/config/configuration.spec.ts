import { readConfiguration } from '../../../test/support/application/configuration-faults';
import { secretsOf } from './configuration';

describe('secretsOf', () => {
  it('has the keys and the passwords of URLs, as written and decoded', () => {
    const configuration = readConfiguration({
      API_KEY: 'the-current-key',
      API_KEY_PREVIOUS: 'the-previous-key',
      DATABASE_URL: 'postgres://user:p%40ss-word@localhost:5432/governance',
      SIGNING_KEY: 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=',
      SECRET_KEY: Buffer.alloc(32, 9).toString('base64'),
      PUBLIC_URL: 'https://governance.example.com',
      PERMIT_AUDIENCES: 'bank',
      PERMIT_KEY: Buffer.alloc(32, 8).toString('base64'),
      REDIS_URL: 'redis://:redis-password@localhost:6379',
      SMTP_URL: 'smtps://governance:mail%3Apassword@localhost',
      MAIL_FROM: 'governance@example.com',
      SLACK_SIGNING_SECRET: 'the-slack-signing-secret',
    });
    expect(new Set(secretsOf(configuration))).toEqual(
      new Set([
        'the-current-key',
        'the-previous-key',
        'p%40ss-word',
        'p@ss-word',
        'redis-password',
        'mail%3Apassword',
        'mail:password',
        'the-slack-signing-secret',
        Buffer.alloc(32, 7).toString('base64'),
        Buffer.alloc(32, 8).toString('base64'),
        Buffer.alloc(32, 9).toString('base64'),
      ]),
    );
  });

  it('is empty if there is no secret', () => {
    expect(secretsOf(readConfiguration({ API_KEY: 'k', DATABASE_URL: 'sqlite:./a.db' }))).toEqual(['k']);
  });
});
