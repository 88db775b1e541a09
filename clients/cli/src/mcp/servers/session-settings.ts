import { type Client, ProtocolError, type RequestTypeMap } from '@modelcontextprotocol/client';

export type LogLevel = RequestTypeMap['logging/setLevel']['params']['level'];

/** The settings of a client at one server. Servers forget them with the connection. */
export class SessionSettings {
  private level: LogLevel | null = null;
  private readonly subscriptions = new Set<string>();

  setLevel(level: LogLevel): void {
    this.level = level;
  }

  addSubscription(uri: string): void {
    this.subscriptions.add(uri);
  }

  removeSubscription(uri: string): void {
    this.subscriptions.delete(uri);
  }

  /**
   * Sets everything again on a new connection, the level first.
   * @returns the settings that the server refused or did not receive
   */
  async restore(client: Client): Promise<string[]> {
    const faults: string[] = [];
    const { level } = this;
    const hasLog = client.getServerCapabilities()?.logging !== undefined;
    if (level !== null && hasLog) await attempt(faults, 'the level of its log', () => setLogLevel(client, level));
    for (const uri of [...this.subscriptions]) {
      // The client may have ended the subscription meanwhile.
      if (!this.subscriptions.has(uri)) continue;
      const isAnswered = await attempt(faults, `the subscription to ${uri}`, () => client.subscribeResource({ uri }));
      // A server that does not answer one request would hold up each of the others for as long.
      if (!isAnswered) break;
    }
    return faults;
  }
}

export async function setLogLevel(client: Client, level: LogLevel): Promise<void> {
  await client.request({ method: 'logging/setLevel', params: { level } });
}

/** @returns false if the server gave no answer */
async function attempt(faults: string[], label: string, request: () => Promise<unknown>): Promise<boolean> {
  try {
    await request();
    return true;
  } catch (error) {
    faults.push(`${label} could not be set again: ${error instanceof Error ? error.message : String(error)}`);
    return error instanceof ProtocolError;
  }
}
