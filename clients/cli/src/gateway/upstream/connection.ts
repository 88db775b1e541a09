import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';

/** What a connection has to know of the exchange that it carries. */
export interface CarriedExchange {
  /** True if the answer is read no further for now. */
  readonly isFull: boolean;
  /** True from the head of the answer on. */
  readonly hasResponse: boolean;
  /** Called when there is room for more of the answer. */
  onRoom: () => void;
}

export interface ExchangeOptions extends Dispatcher.DispatchOptions {
  readonly exchange: CarriedExchange;
}

/** The code of a connection that broke off while it carried an answer. */
const BROKEN_OFF = 'UND_ERR_SOCKET';

/**
 * A client of undici with one connection at a time, which carries one exchange at a time. An exchange without room holds back what
 * undici reads from the socket. Paused, undici would fail with an assertion, which ends the process, when the connection of an answer
 * without a length ends.
 */
export class Connection extends Client {
  private exchange: CarriedExchange | null = null;

  /** @param connector opens the socket */
  static open(origin: URL, options: Client.Options, connector: buildConnector.connector): Connection {
    const connection: Connection = new Connection(origin, {
      ...options,
      connect: (target: buildConnector.Options, callback: buildConnector.Callback) =>
        connector(target, (...result: Parameters<buildConnector.Callback>) => {
          if (result[0] === null) connection.watch(result[1]);
          callback(...result);
        }),
    });
    return connection;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.exchange = (options as ExchangeOptions).exchange;
    return super.dispatch(options, handler);
  }

  private watch(socket: Socket): void {
    const read = socket.read.bind(socket);
    socket.read = (size?: number): unknown => {
      const { exchange } = this;
      if (exchange?.isFull !== true) return read(size);
      exchange.onRoom = () => socket.emit('readable');
      return null;
    };
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // undici takes a reset for the end of an answer without a length.
      if (error.code === 'ECONNRESET' && this.exchange?.hasResponse === true) error.code = BROKEN_OFF;
    });
  }
}
