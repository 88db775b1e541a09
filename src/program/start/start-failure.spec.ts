import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { ConfigurationError } from '../../core/config/read-configuration';
import { DatabaseInUseError } from '../../ledger/database/database-fault';
import { UnfinishedMoveError } from '../../ledger/schema/move-mark';
import { UnreleasedSchemaError } from '../../ledger/schema/schema-version';
import { startFailure } from './start-failure';

/** The error Node reports when a server cannot listen. */
async function listenError(host: string, port: number): Promise<unknown> {
  const server = createServer().listen(port, host);
  const [error] = (await once(server, 'error')) as unknown[];
  return error;
}

describe('startFailure', () => {
  it('ends with 78 for the configuration', () => {
    const failure = startFailure(new ConfigurationError(['PORT: got "x"', 'HOST: got "y z"']));
    expect(failure).toEqual({
      exitCode: 78,
      message: 'The configuration is invalid:\n  PORT: got "x"\n  HOST: got "y z"',
    });
  });

  it('ends with 75 for a database in use', () => {
    const failure = startFailure(new DatabaseInUseError('/data/governance.db', 'it is locked.'));
    expect(failure).toEqual({
      exitCode: 75,
      message: 'The database /data/governance.db is in use by another process: it is locked.',
    });
  });

  it('ends with 65 for a database of a commit between releases', () => {
    const failure = startFailure(new UnreleasedSchemaError('The database x was made by a commit between releases.'));
    expect(failure).toEqual({ exitCode: 65, message: 'The database x was made by a commit between releases.' });
  });

  it('ends with 65 for a database to which a move has not ended', () => {
    const failure = startFailure(new UnfinishedMoveError('The database x is not complete.'));
    expect(failure).toEqual({ exitCode: 65, message: 'The database x is not complete.' });
  });

  describe('ends with 1 and one line', () => {
    let other: Server;

    beforeAll(async () => {
      other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
    });

    afterAll(() => other.close());

    it('for a port that is taken', async () => {
      const address = other.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      expect(startFailure(await listenError('127.0.0.1', port))).toEqual({
        exitCode: 1,
        message: `The service could not start: it cannot listen on 127.0.0.1 port ${port}: another program listens there; set PORT to a free port.`,
      });
    });

    it('for an address the machine does not have', async () => {
      const { message } = startFailure(await listenError('192.0.2.1', 0));
      expect(message).toMatch(/^The service could not start: it cannot listen on 192\.0\.2\.1.*set HOST to one it has/);
      expect(message).not.toContain('\n');
    });

    it('for any other error with a message', () => {
      const { message, exitCode } = startFailure(new Error('The head row is missing.'));
      expect([message, exitCode]).toEqual(['The service could not start: The head row is missing.', 1]);
    });

    it('for a value that is not an error', () => {
      expect(startFailure('a string').message).toBe('The service could not start: a string');
    });
  });

  it('shows where a programming error happened', () => {
    expect(startFailure(new TypeError('x is not a function')).message).toContain('start-failure.spec');
  });
});
