import { temporaryDatabase } from '../../support/database/temporary-database';
import { faultyDisk, type FaultyDisk } from './faulty-disk';
import { ServedDatabase } from './served-database';

/** The empty database of a test, and the program to serve it; `remove` ends the program and removes the database. */
export async function temporaryService(): Promise<ServedDatabase> {
  const database = await temporaryDatabase();
  return new ServedDatabase(database.path, { tidyUp: () => database.remove() });
}

/** The same with a disk that fails on demand, and is removed with the database. */
export async function serviceOnFaultyDisk(): Promise<{ served: ServedDatabase; disk: FaultyDisk }> {
  const database = await temporaryDatabase();
  const disk = faultyDisk(database.path);
  const tidyUp = async (): Promise<void> => {
    await database.remove();
    disk.remove();
  };
  return { served: new ServedDatabase(database.path, { environment: disk.environment, tidyUp }), disk };
}
