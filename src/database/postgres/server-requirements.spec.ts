import type { SqlConnection } from '../sql-connection';
import { requireDurability } from './server-requirements';

const SOUND = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  server_encoding: 'UTF8',
  standby: 'false',
};

function serverWith(settings: Partial<typeof SOUND>): SqlConnection {
  const all = jest.fn().mockResolvedValue([{ ...SOUND, ...settings }]);
  return { isLost: false, all, run: jest.fn(), close: jest.fn() };
}

describe('A server', () => {
  it.each([{}, { synchronous_commit: 'local' }, { synchronous_commit: 'remote_apply' }])(
    'with %j is accepted',
    async (settings) => {
      await expect(requireDurability(serverWith(settings))).resolves.toBeUndefined();
    },
  );

  it.each([
    [{ fsync: 'off' }, 'The PostgreSQL server runs with fsync=off, which loses acknowledged writes. Turn it on.'],
    [{ synchronous_commit: 'off' }, /synchronous_commit=off/],
    [{ full_page_writes: 'off' }, /full_page_writes=off/],
    [{ server_encoding: 'LATIN1' }, /encoding UTF8/],
    [{ standby: 'true' }, /is a standby/],
  ])('with %j is refused', async (settings, message) => {
    await expect(requireDurability(serverWith(settings))).rejects.toThrow(message);
  });
});
