import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { freePort } from '../../bench/support/free-port';

describe('A free port', () => {
  it('is another one where somebody listens on the first', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: takenPort } = server.address() as AddressInfo;
    const proposals = [takenPort, takenPort];
    const port = await freePort(() => proposals.pop() ?? takenPort + 1);
    expect(port).toBe(takenPort + 1);
    server.close();
  });

  it('is not sought for ever where none may be used', async () => {
    await expect(freePort(() => 65_536)).rejects.toThrow('65536');
  });
});
