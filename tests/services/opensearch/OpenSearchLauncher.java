// Starts one OpenSearch node inside this JVM, HTTP only on the loopback address, no security plugin, for tests.
// Arguments: data directory, port. Says "ready" on a line of its own once it answers; SIGTERM stops it.

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

public final class OpenSearchLauncher {
    // What a distribution keeps in its folder `modules`, as far as an index needs it; names vary between versions.
    private static final List<String> MODULES = List.of(
            "org.opensearch.transport.Netty4ModulePlugin",
            "org.opensearch.transport.Netty4Plugin",
            "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
            "org.opensearch.analysis.common.CommonAnalysisPlugin",
            "org.opensearch.index.mapper.MapperExtrasModulePlugin",
            "org.opensearch.index.mapper.MapperExtrasPlugin");

    // The constructor that takes modules from the class path is open to subclasses only.
    private static final class ClassPathNode extends Node {
        ClassPathNode(Environment environment, Collection<Class<? extends Plugin>> modules) {
            super(environment, modules, false);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Path config = Files.createDirectories(home.resolve("config"));
        Settings settings = Settings.builder()
                .put("path.home", home.toString())
                .put("cluster.name", "theworld-tests")
                .put("node.name", "only")
                .put("discovery.type", "single-node")
                .put("network.host", "127.0.0.1")
                .put("http.port", arguments[1])
                .put("transport.port", "0")
                .put("cluster.routing.allocation.disk.threshold_enabled", false)
                .put("action.destructive_requires_name", true)
                .build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> "only");
        Node node = new ClassPathNode(environment, modules());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
        node.start();
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }

    private static Collection<Class<? extends Plugin>> modules() {
        Collection<Class<? extends Plugin>> found = new ArrayList<>();
        for (String name : MODULES) {
            try {
                found.add(Class.forName(name).asSubclass(Plugin.class));
            } catch (ClassNotFoundException otherVersion) {
                // The same module goes by another name of the list.
            }
        }
        return found;
    }

    private static void close(Node node) {
        try {
            node.close();
        } catch (Exception error) {
            System.err.println("the node did not close: " + error);
        }
    }
}
