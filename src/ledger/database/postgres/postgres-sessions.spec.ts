import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { PostgresSessions } from './postgres-sessions';
import { ServerReach } from './server-reach';
import { WriterServer } from './writer-server';

describe('Sessions that are closed while one is being opened', () => {
  let server: Server;
  const arrived: Socket[] = [];

  beforeAll(async () => {
    server = createServer((socket) => arrived.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('open no other for a statement that waits, when the opening fails', async () => {
    const { port } = server.address() as AddressInfo;
    const config = { host: '127.0.0.1', port, user: 'some', password: 'some', database: 'some' };
    const sessions = new PostgresSessions(config, 1, new WriterServer(new ServerReach(config), () => undefined));
    const connected = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const opening = sessions.all('SELECT 1');
    const first = await connected;
    const outcomes = Promise.allSettled([opening, sessions.all('SELECT 2')]);
    const closed = sessions.close();
    // A second opening would be another connection.
    server.on('connection', (socket) => socket.destroy());
    first.destroy();
    await closed;
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(arrived).toHaveLength(1);
  });
});
