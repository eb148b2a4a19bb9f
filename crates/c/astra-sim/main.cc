/* ASTRA-sim with a network of Shallows: the options of its analytical backend, but the network is an experiment of Shallows.
 *
 *     astra-sim-shallows --workload-configuration=W --system-configuration=S --remote-memory-configuration=M \
 *         --network-configuration=EXPERIMENT
 *
 * The first ranks use the first hosts. Left out: compute-scale, which ASTRA-sim does not use.
 */
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"
#include "network.hh"

using Options = std::map<std::string, std::string>;

static const Options DEFAULTS = {
    {"workload-configuration", ""},          /* traces: PREFIX of PREFIX.0.et ... */
    {"system-configuration", ""},            /* JSON of ASTRA-sim */
    {"remote-memory-configuration", ""},     /* JSON of ASTRA-sim */
    {"network-configuration", ""},           /* an experiment of Shallows, TOML or JSON */
    {"comm-group-configuration", "empty"},   /* JSON of ASTRA-sim */
    {"logging-configuration", "empty"},      /* TOML of spdlog */
    {"logging-folder", "log"},
    {"num-queues-per-dim", "1"},
    {"comm-scale", "1"},
    {"injection-scale", "1"},
    {"rendezvous-protocol", "false"},
    {"dimensions", "all hosts in one"},      /* ranks of each logical dimension: 4,2 */
};

[[noreturn]] static void fail(const std::string &why)
{
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(2);
}

/* The options by name, written --name=value or --name value. */
static Options read(int argc, char **argv)
{
    Options options = DEFAULTS;
    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];
        size_t equals = word.find('=');
        std::string name = word.rfind("--", 0) == 0 ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
        if (!DEFAULTS.count(name)) {
            std::string names;
            for (const auto &known : DEFAULTS)
                names += " --" + known.first;
            fail("unknown option \"" + word + "\"; try" + names);
        }
        bool flag = name == "rendezvous-protocol" && (i + 1 == argc || argv[i + 1][0] == '-');
        if (equals != std::string::npos)
            options[name] = word.substr(equals + 1);
        else if (flag)
            options[name] = "true";
        else if (i + 1 < argc)
            options[name] = argv[++i];
        else
            fail("--" + name + " needs a value; try --" + name + "=VALUE");
    }
    for (const auto &option : options)
        if (option.second.empty())
            fail("--" + option.first + " is required; try --" + option.first + "=FILE");
    return options;
}

static double number(const Options &options, const std::string &name, const char *text, double least)
{
    char *end = nullptr;
    double value = std::strtod(text, &end);
    bool whole = least >= 1; /* counts are whole, factors are not */
    if (end == text || (*end && *end != ',') || !(value >= least) || value > 1e9 || (whole && value != std::floor(value)))
        fail("--" + name + ": must be a " + (whole ? "whole number of at least 1" : "number of at least 0") + ", got \"" +
             options.at(name) + "\"");
    return value;
}

static double number(const Options &options, const std::string &name, double least)
{
    return number(options, name, options.at(name).c_str(), least);
}

/* Ranks of each dimension: numbers between commas. */
static std::vector<int> dimensions(const Options &options, uint32_t hosts)
{
    const std::string &text = options.at("dimensions");
    if (text == DEFAULTS.at("dimensions"))
        return {static_cast<int>(hosts)};
    std::vector<int> sizes;
    uint64_t ranks = 1;
    for (size_t at = 0; at != std::string::npos; at = text.find(',', at), at += at != std::string::npos) {
        sizes.push_back(static_cast<int>(number(options, "dimensions", text.c_str() + at, 1)));
        ranks *= sizes.back();
        if (ranks > hosts)
            fail("--dimensions: the network has " + std::to_string(hosts) + " hosts, got \"" + text + "\"");
    }
    return sizes;
}

int main(int argc, char **argv)
{
    Options options = read(argc, argv);
    const std::string &path = options["network-configuration"];
    std::ifstream file(path);
    if (!file)
        fail("--network-configuration: cannot be read, got \"" + path + "\"");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    char error[10000];
    std::unique_ptr<shallows, void (*)(shallows *)> net(shallows_new(text.c_str(), error, sizeof error), shallows_free);
    if (!net)
        fail(path + ":\n" + error);
    std::vector<int> sizes = dimensions(options, shallows_hosts(net.get()));
    std::vector<int> queues(sizes.size(), static_cast<int>(number(options, "num-queues-per-dim", 1)));
    double injection = number(options, "injection-scale", 0), communication = number(options, "comm-scale", 0);
    int ranks = 1;
    for (int size : sizes)
        ranks *= size;

    AstraSim::LoggerFactory::init(options["logging-configuration"], options["logging-folder"]);
    Analytical::AnalyticalRemoteMemory memory(options["remote-memory-configuration"]);
    shallows_astra::Fabric fabric(net.get(), ranks);
    std::vector<std::unique_ptr<shallows_astra::Endpoint>> endpoints;
    std::vector<std::unique_ptr<AstraSim::Sys>> systems;
    for (int rank = 0; rank < ranks; rank++) {
        endpoints.push_back(std::make_unique<shallows_astra::Endpoint>(fabric, rank));
        systems.push_back(std::make_unique<AstraSim::Sys>(
            rank, options["workload-configuration"], options["comm-group-configuration"], options["system-configuration"],
            &memory, endpoints.back().get(), sizes, queues, injection, communication,
            options["rendezvous-protocol"] == "true"));
    }
    for (auto &system : systems)
        system->workload->fire();
    int code = shallows_run(net.get(), UINT64_MAX);
    std::string why = fabric.fault;
    if (why.empty() && code == SHALLOWS_FAILED)
        why = shallows_error(net.get());
    if (why.empty() && code == SHALLOWS_OVER)
        why = "the experiment's duration is over, and " + std::to_string(shallows_under_way(net.get())) +
              " messages are under way; try a longer duration";
    if (why.empty() && fabric.unfinished())
        why = std::to_string(fabric.unfinished()) + " of " + std::to_string(ranks) + " ranks have not finished, and " +
              std::to_string(shallows_waiting(net.get())) + " receives have no message";
    systems.clear();
    AstraSim::LoggerFactory::shutdown();
    if (!why.empty()) {
        std::fprintf(stderr, "%s\n", why.c_str());
        return 1;
    }
    uint64_t last = 0;
    for (uint64_t at : fabric.finished)
        last = at > last ? at : last;
    std::printf("%d ranks on Shallows: %" PRIu64 ".%03" PRIu64 " ns\n%s\n%s\n", ranks, last / 1000, last % 1000,
                shallows_counts(net.get()), shallows_tables_hash(net.get()));
    return 0;
}
