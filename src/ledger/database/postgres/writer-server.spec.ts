import type { SqlConnection } from '../sql-connection';
import { requireDurability, requirePrimary } from './writer-server';

const SOUND = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  server_encoding: 'UTF8',
};

function serverWith(settings: Partial<typeof SOUND>): SqlConnection {
  const all = jest.fn().mockResolvedValue([{ ...SOUND, ...settings }]);
  return { isLost: false, all, run: jest.fn(), runAll: jest.fn(), commit: jest.fn(), close: jest.fn() };
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
  ])('with %j is refused', async (settings, message) => {
    await expect(requireDurability(serverWith(settings))).rejects.toThrow(message);
  });

  it('that is a standby is refused for every kind of session', async () => {
    const all = jest.fn().mockResolvedValue([{ system: '1', timeline: null }]);
    await expect(
      requirePrimary({ isLost: false, all, run: jest.fn(), runAll: jest.fn(), commit: jest.fn(), close: jest.fn() }),
    ).rejects.toThrow('The PostgreSQL server is a standby, which cannot write. Name the primary.');
  });
});
