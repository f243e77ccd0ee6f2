// Starts Neo4j Community inside this JVM with nothing but its Bolt connector, for tests.
// Arguments: data directory, port. Says "ready" on a line of its own once it accepts connections; SIGTERM stops it.

import static org.neo4j.configuration.GraphDatabaseSettings.DEFAULT_DATABASE_NAME;
import static org.neo4j.configuration.GraphDatabaseSettings.auth_enabled;
import static org.neo4j.configuration.GraphDatabaseSettings.pagecache_memory;

import java.nio.file.Path;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

public final class Neo4jLauncher {
    private static final long PAGE_CACHE_BYTES = 64L * 1024 * 1024;
    private static final long LONGEST_START_MS = 120_000;

    public static void main(String[] arguments) throws InterruptedException {
        Path data = Path.of(arguments[0]);
        SocketAddress address = new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1]));
        DatabaseManagementService service =
                new DatabaseManagementServiceBuilder(data)
                        .setConfig(BoltConnector.enabled, true)
                        .setConfig(BoltConnector.listen_address, address)
                        .setConfig(BoltConnector.advertised_address, address)
                        .setConfig(auth_enabled, false)
                        .setConfig(pagecache_memory, PAGE_CACHE_BYTES)
                        .build();
        Runtime.getRuntime().addShutdownHook(new Thread(service::shutdown));
        if (!service.database(DEFAULT_DATABASE_NAME).isAvailable(LONGEST_START_MS)) {
            throw new IllegalStateException("the database did not become available");
        }
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
