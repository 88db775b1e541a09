import { dropPostgresDatabases } from '../database/database-server';

/** Jest calls it once, after the last test of the run. */
export default dropPostgresDatabases;
