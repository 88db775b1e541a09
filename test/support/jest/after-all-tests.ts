import { dropPostgresDatabases } from '../database/database-server';

/** Jest calls this once, after the last test of the run. */
export default dropPostgresDatabases;
