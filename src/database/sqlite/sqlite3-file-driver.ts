import { BUSY_TIMEOUT, type FileDriver, type FileUse } from './file-driver';
import { SqliteConnection } from './sqlite-connection';
import { OPEN_CREATE, OPEN_READONLY, OPEN_READWRITE, sqliteDriver } from './sqlite-driver';

const FLAGS: Readonly<Record<FileUse, number>> = {
  read: OPEN_READONLY,
  write: OPEN_READWRITE,
  create: OPEN_READWRITE | OPEN_CREATE,
};

/** `sqlite3`: disk access happens on threads other than the event loop's. */
export const SQLITE3: FileDriver = {
  open: (path, use) => SqliteConnection.open(path, FLAGS[use]),
  typeOrmOptions: (path, use) => ({
    type: 'sqlite',
    driver: sqliteDriver,
    database: path,
    flags: FLAGS[use],
    enableWAL: use !== 'read',
    busyTimeout: BUSY_TIMEOUT,
  }),
};
