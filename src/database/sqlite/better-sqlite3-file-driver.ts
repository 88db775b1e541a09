import { createRequire } from 'node:module';
import { ConfigurationError } from '../../config/read-configuration';
import { BetterSqlite3Connection, type BetterSqlite3 } from './better-sqlite3-connection';
import { BUSY_TIMEOUT, type FileDriver, type FileUse } from './file-driver';

const NAME = 'better-sqlite3';
/** The newest major version that TypeORM supports. */
const INSTALL = `npm install ${NAME}@12`;

/**
 * `better-sqlite3` works on the event loop's thread, so a call costs less, but a disk sync blocks everything. It is not
 * a dependency of the service: it is loaded only when chosen.
 * @throws ConfigurationError if it is not installed, or its binary does not load.
 */
export function loadBetterSqlite3(): FileDriver {
  const driver = requireBetterSqlite3();
  return {
    open: async (path, use) => new BetterSqlite3Connection(driver, path, optionsOf(use)),
    typeOrmOptions: (path, use) => ({
      type: 'better-sqlite3',
      driver,
      database: path,
      enableWAL: use !== 'read',
      ...optionsOf(use),
    }),
  };
}

function optionsOf(use: FileUse): ConstructorParameters<BetterSqlite3>[1] {
  return { readonly: use === 'read', fileMustExist: use !== 'create', timeout: BUSY_TIMEOUT };
}

function requireBetterSqlite3(): BetterSqlite3 {
  try {
    const driver = createRequire(__filename)(NAME) as BetterSqlite3;
    // The binary is loaded when the first database is opened.
    new driver(':memory:', {}).close();
    return driver;
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    const isMissing = code === 'MODULE_NOT_FOUND';
    const reason = isMissing ? 'which is not installed' : `which does not load (${firstLine(message)})`;
    throw new ConfigurationError([`DATABASE_DRIVER: got "${NAME}", ${reason}; install it with: ${INSTALL}`]);
  }
}

function firstLine(text: unknown): string {
  return String(text).split('\n', 1)[0] ?? '';
}
