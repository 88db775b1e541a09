import { temporaryDatabase } from '../../support/database/temporary-database';
import { faultyDisk, type FaultyDisk } from './faulty-disk';
import { ServedDatabase } from './served-database';

/** An empty database of a test, and the program to serve it; `remove` ends the one and takes the other away. */
export async function temporaryService(): Promise<ServedDatabase> {
  const database = await temporaryDatabase();
  return new ServedDatabase(database.path, { tidyUp: () => database.remove() });
}

/** One whose disk fails when it is asked to; the disk goes with the database. */
export async function serviceOnFaultyDisk(): Promise<{ served: ServedDatabase; disk: FaultyDisk }> {
  const database = await temporaryDatabase();
  const disk = faultyDisk(database.path);
  const tidyUp = async (): Promise<void> => {
    await database.remove();
    disk.remove();
  };
  return { served: new ServedDatabase(database.path, { environment: disk.environment, tidyUp }), disk };
}
