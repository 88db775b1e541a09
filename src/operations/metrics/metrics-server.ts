import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Configuration } from '../../core/config/configuration';
import { ConnectionLimiter, createHttpServer, TURN } from '../../http/server/http-server';
import { Metrics } from './metrics';

/** Serves the metrics on METRICS_PORT, if set: without a key, so the port must not be public. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsServer.name);
  private server: Server | null = null;

  constructor(
    private readonly metrics: Metrics,
    private readonly configuration: Configuration,
  ) {}

  /** Port on which the server listens; null if it does not listen. */
  get port(): number | null {
    const address = this.server?.address() ?? null;
    return address === null || typeof address === 'string' ? null : address.port;
  }

  async onApplicationBootstrap(): Promise<void> {
    const { metricsPort, host, maxConnections, maxConnectionsPerAddress } = this.configuration;
    if (metricsPort === null) return;
    this.server = createHttpServer();
    this.server.on(TURN, (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response));
    new ConnectionLimiter(this.server, {
      most: maxConnections,
      mostPerClient: maxConnectionsPerAddress,
      isProxy: () => false,
    });
    try {
      await once(this.server.listen(metricsPort, host), 'listening');
    } catch (error) {
      throw new Error(`The metrics cannot be served on METRICS_PORT ${metricsPort}: ${String(error)}`, {
        cause: error,
      });
    }
    this.logger.log(`Metrics are served on port ${this.port ?? metricsPort} at /metrics, without a key.`);
  }

  onApplicationShutdown(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }

  private async answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (method !== 'GET' || url !== '/metrics') {
      response.writeHead(404).end('The metrics are at GET /metrics.\n');
      return;
    }
    try {
      const text = await this.metrics.text();
      response.writeHead(200, { 'Content-Type': this.metrics.contentType }).end(text);
    } catch (error) {
      this.logger.error(error);
      response.writeHead(500).end();
    }
  }
}
