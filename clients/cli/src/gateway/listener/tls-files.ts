import type { Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { readRegularFile } from '../../regular-file.js';
import { SettingsError, shownMessage } from '../../settings.js';
import type { GatewayConfig } from '../file/gateway-config.js';

/** The texts of a certificate and its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** Reads the files of `tls`; null without it. @throws SettingsError if they cannot be used together */
export function readTls({ tls }: Pick<GatewayConfig, 'tls'>): TlsFiles | null {
  if (tls === undefined) return null;
  try {
    const files = { cert: readRegularFile(tls.cert), key: readRegularFile(tls.key) };
    // Node.js takes an empty text for none, and would then accept no connection.
    if (files.cert === '' || files.key === '') throw new SettingsError('a file is empty');
    createSecureContext(files);
    return files;
  } catch (error) {
    throw new SettingsError(`The certificate and key of tls cannot be used: ${shownMessage(error)}`);
  }
}

/** Serves new connections by another certificate; those that are open keep theirs. */
export function renewTls(server: Server, files: TlsFiles | null): void {
  if (files !== null && server instanceof SecureServer) server.setSecureContext(files);
}
