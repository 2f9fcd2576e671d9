# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ewca_global_optspecs
    string join \n v/verbose q/quiet json raw-text overwrite h/help V/version
end

function __fish_ewca_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ewca_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ewca_using_subcommand
    set -l cmd (__fish_ewca_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ewca -n "__fish_ewca_needs_command" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_needs_command" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_needs_command" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_needs_command" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_needs_command" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_needs_command" -s h -l help -d 'Print help'
complete -c ewca -n "__fish_ewca_needs_command" -s V -l version -d 'Print version'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "fit" -d 'Find components, as PCA does, that also keep neighbouring samples together'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "transform" -d 'Compute the scores of new samples with a fitted model'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "reconstruct" -d 'Compute samples from their scores (the inverse of transform)'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "neighbours" -d 'List each sample\'s partners: which samples it is matched with most strongly'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "report" -d 'Make an interactive report of a fit: one HTML file'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "path" -d 'Fit with a series of epsilons, and report where the fit collapses'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "select" -d 'Choose k and epsilon by how well nearest neighbours predict the classes of --label'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "reproduce" -d 'Repeat the experiments of the paper, and compare the results with the published ones'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "inspect" -d 'Show what is in a file: a table in any format, or a model'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "demo" -d 'Try EWCA on data that come with the program'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "completions" -d 'Print tab completions for your shell'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "man" -d 'Print the manual page, or write all pages to a folder'
complete -c ewca -n "__fish_ewca_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l metadata -d 'A table that describes the samples (.csv, .tsv or .xlsx, also compressed): one row per sample, in any order, matched by the sample names. All its columns are used in the results; --label can name some of them' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l weights -l weight -d 'The column with the weight of each sample, in any unit; not used as a feature. Perplexity counts each sample once' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l counts -d 'The column that says how many samples each row stands for; not used as a feature. Perplexity counts each row that many times' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l normalize-total -d 'Scale every sample to this total, such as 1e4' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l top-variable -d 'Keep only the N features with the largest variance' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l scale -d 'Divide every feature by its standard deviation' -r -f -a "unit-variance\t'Every feature has variance 1'"
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l epsilon -d 'How strong the smoothing is, in squared units of the data: with a larger value, each sample is matched with more neighbours; towards 0 the result is PCA' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l perplexity -d 'How many neighbours each sample is matched with on average; epsilon is then found for you [default: 5, or 1 + 0.3 (n - 1) for fewer than 15 samples]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -s k -l components -d 'The number of components, or auto: as many as explain more variance than chance (parallel analysis with 20 tables whose features are shuffled)' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l solver -d 'The algorithm; all find the same optimum, and lbfgs is the fastest' -r -f -a "auto\t'The fastest for the shape of the data'
lbfgs\t'Riemannian L-BFGS'
bcd\t'Block coordinate descent: the paper\'s Algorithm 1'
mm\t'Block majorisation-minimisation: the paper\'s Algorithm 2'"
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l tolerance -d 'The fit has converged when the relative gradient is below this' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l max-iterations -d 'The most iterations per start' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l restarts -d 'Also start from this many random subspaces, and keep the fit with the lowest loss' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l seed -d 'The seed for everything random' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l mm-inner-steps -d 'Steps per plan, with --solver mm [default: 10]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l mm-bound -d 'The lower bound for the plan\'s smallest eigenvalue, with --solver mm [default: zero]' -r -f -a "exact\t'The exact eigenvalue: n x n work in every iteration'
gershgorin\t'Gershgorin\'s -1/n'
zero\t'Zero: valid, tighter, and costs nothing'"
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l mm-orthonormalisation -d 'How components are kept orthonormal, with --solver mm [default: qr]' -r -f -a "qr\t'QR factorisation'
polar\t'Polar decomposition: the nearest orthonormal components'"
complete -c ewca -n "__fish_ewca_using_subcommand fit" -s o -l output -d 'The folder for the results; it is created if needed' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l scores -d 'Also write the scores to this file: .csv, .tsv, .parquet, .arrow or .npy' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l loadings -d 'Also write the loadings to this file: .csv, .tsv, .parquet, .arrow or .npy' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l plan -d 'Write the transport plan (a table of how strongly each sample is matched with every other) to this file, as the strongest partners of each sample: .csv, .tsv, .parquet or .arrow' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l partners -d 'How many partners of each sample to write with --plan and --write-anndata' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l dense-plan -d 'Write the whole plan, n x n, to this file: .npy' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l write-anndata -d 'Write a copy of the .h5ad input to this file, with the results in obsm, varm, obsp and uns' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l report -d 'Write a report to this file: one .html file for your browser' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l threads -d 'The number of threads; it does not change the results [default: all]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l max-memory -d 'The most memory to use, such as 8GiB or 500MB; a fit that needs more is refused (`ewca fit` first tries to read the table in parts) [default: what is free]' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l approximate -d 'Approximate the fit with this many landmarks (a subset of the samples): for a million samples or more, with a perplexity well above samples / LANDMARKS. The result is marked as approximate, and its error is estimated on exact rows of the plan' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l checkpoint -d 'Save the state of the fit to this file while it runs' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l checkpoint-every -d 'Seconds between two saved states; 0 saves every iteration' -r
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l resume -d 'Continue from the state saved in this file; the result is the same as without the interruption' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l log1p -d 'Take ln(1 + x) of every value'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l tsne -d 'With --report: also show t-SNE of the scores (up to 3000 samples)'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l in-parts -d 'Read the table in parts instead of loading it: .npy, Parquet or .h5ad. This is automatic for a table that is larger than --max-memory or the free memory'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l distributed -d 'Share the fit among the processes of an MPI job: mpirun -n 4 ewca fit table.npy --distributed'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l all-pairs -d 'Compute all pairs of samples, even those too far apart to matter'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l no-coarse-start -d 'Do not start from a fit of fewer samples'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l double-precision -d 'Compute all plans in double precision, even early ones that need not be accurate'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l allow-unconverged -d 'Exit with code 0 instead of 3 when the results did not converge or have collapsed: for pipelines that check the results themselves'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand fit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -s o -l output -d 'Write the scores to this file: .csv, .tsv, .parquet, .arrow or .npy [default: CSV on standard output]' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand transform" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -s o -l output -d 'Write the samples to this file: .csv, .tsv, .parquet, .arrow or .npy [default: CSV on standard output]' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand reconstruct" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -s m -l partners -d 'How many partners to list for each sample' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -s o -l output -d 'Write the pairs to this file: .csv, .tsv, .parquet or .arrow [default: CSV on standard output]' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand neighbours" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand report" -s o -l output -d 'Write the report to this file' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand report" -l multiqc -d 'Also write the embedding for MultiQC, to a file with a name such as run1_mqc.json' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand report" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand report" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l metadata -d 'A table that describes the samples (.csv, .tsv or .xlsx, also compressed): one row per sample, in any order, matched by the sample names. All its columns are used in the results; --label can name some of them' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand report" -l threads -d 'The number of threads; it does not change the results [default: all]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l max-memory -d 'The most memory to use, such as 8GiB or 500MB; a fit that needs more is refused (`ewca fit` first tries to read the table in parts) [default: what is free]' -r
complete -c ewca -n "__fish_ewca_using_subcommand report" -l path -d 'Also fit 20 epsilons, from PCA to just beyond the collapse, and show them with a slider'
complete -c ewca -n "__fish_ewca_using_subcommand report" -l tsne -d 'Also show t-SNE of the scores (up to 3000 samples)'
complete -c ewca -n "__fish_ewca_using_subcommand report" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand report" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand report" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand report" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand report" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand report" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand report" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l epsilons -d 'The epsilons: FROM:TO:COUNT (evenly spaced on a log scale), or a list such as 5,10,50 [default: 20, from PCA to just beyond the collapse]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l perplexities -d 'Perplexities instead of epsilons, such as 2,5,10' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -s o -l output -d 'Write the table to this file: .csv, .tsv, .parquet, .arrow or .npy' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand path" -l report -d 'Write a report to this file: one .html file for your browser' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand path" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand path" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l metadata -d 'A table that describes the samples (.csv, .tsv or .xlsx, also compressed): one row per sample, in any order, matched by the sample names. All its columns are used in the results; --label can name some of them' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand path" -l weights -l weight -d 'The column with the weight of each sample, in any unit; not used as a feature. Perplexity counts each sample once' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l counts -d 'The column that says how many samples each row stands for; not used as a feature. Perplexity counts each row that many times' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l normalize-total -d 'Scale every sample to this total, such as 1e4' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l top-variable -d 'Keep only the N features with the largest variance' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l scale -d 'Divide every feature by its standard deviation' -r -f -a "unit-variance\t'Every feature has variance 1'"
complete -c ewca -n "__fish_ewca_using_subcommand path" -s k -l components -d 'The number of components, or auto: as many as explain more variance than chance (parallel analysis with 20 tables whose features are shuffled)' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l solver -d 'The algorithm; all find the same optimum, and lbfgs is the fastest' -r -f -a "auto\t'The fastest for the shape of the data'
lbfgs\t'Riemannian L-BFGS'
bcd\t'Block coordinate descent: the paper\'s Algorithm 1'
mm\t'Block majorisation-minimisation: the paper\'s Algorithm 2'"
complete -c ewca -n "__fish_ewca_using_subcommand path" -l tolerance -d 'The fit has converged when the relative gradient is below this' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l max-iterations -d 'The most iterations per start' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l restarts -d 'Also start from this many random subspaces, and keep the fit with the lowest loss' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l seed -d 'The seed for everything random' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l mm-inner-steps -d 'Steps per plan, with --solver mm [default: 10]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l mm-bound -d 'The lower bound for the plan\'s smallest eigenvalue, with --solver mm [default: zero]' -r -f -a "exact\t'The exact eigenvalue: n x n work in every iteration'
gershgorin\t'Gershgorin\'s -1/n'
zero\t'Zero: valid, tighter, and costs nothing'"
complete -c ewca -n "__fish_ewca_using_subcommand path" -l mm-orthonormalisation -d 'How components are kept orthonormal, with --solver mm [default: qr]' -r -f -a "qr\t'QR factorisation'
polar\t'Polar decomposition: the nearest orthonormal components'"
complete -c ewca -n "__fish_ewca_using_subcommand path" -l threads -d 'The number of threads; it does not change the results [default: all]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l max-memory -d 'The most memory to use, such as 8GiB or 500MB; a fit that needs more is refused (`ewca fit` first tries to read the table in parts) [default: what is free]' -r
complete -c ewca -n "__fish_ewca_using_subcommand path" -l tsne -d 'With --report: also show t-SNE of the scores (up to 3000 samples)'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l log1p -d 'Take ln(1 + x) of every value'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l allow-unconverged -d 'Exit with code 0 instead of 3 when the results did not converge or have collapsed: for pipelines that check the results themselves'
complete -c ewca -n "__fish_ewca_using_subcommand path" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand path" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand path" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand path" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand select" -s k -l components -d 'The numbers of components: a range such as 4..12, a list such as 3,5,10, or auto: from 1 to as many as explain more variance than chance (parallel analysis with 20 tables whose features are shuffled)' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l epsilons -d 'The epsilons: FROM:TO:COUNT (evenly spaced on a log scale), or a list such as 5,10,50 [default: 20, chosen from the variances]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l splits -d 'The number of splits' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l inner-splits -d 'The number of splits within each training half' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l seed -d 'The seed for the splits' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -s o -l output -d 'Write the table to this file: .csv, .tsv, .parquet or .arrow' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand select" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand select" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l metadata -d 'A table that describes the samples (.csv, .tsv or .xlsx, also compressed): one row per sample, in any order, matched by the sample names. All its columns are used in the results; --label can name some of them' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand select" -l weights -l weight -d 'The column with the weight of each sample, in any unit; not used as a feature. Perplexity counts each sample once' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l counts -d 'The column that says how many samples each row stands for; not used as a feature. Perplexity counts each row that many times' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l normalize-total -d 'Scale every sample to this total, such as 1e4' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l top-variable -d 'Keep only the N features with the largest variance' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l scale -d 'Divide every feature by its standard deviation' -r -f -a "unit-variance\t'Every feature has variance 1'"
complete -c ewca -n "__fish_ewca_using_subcommand select" -l threads -d 'The number of threads; it does not change the results [default: all]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l max-memory -d 'The most memory to use, such as 8GiB or 500MB; a fit that needs more is refused (`ewca fit` first tries to read the table in parts) [default: what is free]' -r
complete -c ewca -n "__fish_ewca_using_subcommand select" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand select" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand select" -l log1p -d 'Take ln(1 + x) of every value'
complete -c ewca -n "__fish_ewca_using_subcommand select" -l allow-unconverged -d 'Exit with code 0 instead of 3 when the results did not converge or have collapsed: for pipelines that check the results themselves'
complete -c ewca -n "__fish_ewca_using_subcommand select" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand select" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand select" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand select" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand select" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand select" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l data -d 'The data: khan2001, or a table in any format that `ewca fit` reads; for `evidence`, a folder [default: target/evidence]' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -s o -l output -d 'The folder for the figures; it is created if needed' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -s k -l components -d 'The numbers of components, such as 4..12 or 3..10,15 [default: the paper\'s]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l epsilons -d 'The epsilons: FROM:TO:COUNT (evenly spaced on a log scale), or a list such as 5,10,50 [default: the paper\'s]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l splits -d 'The number of splits' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l inner-splits -d 'The number of splits within each training half' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l repeats -d 'How many gene subsets of each size in `timing` [default: 100, or 5 in `all`], or data sets of each ratio in `when` [default: 20]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l seed -d 'The seed for splits and simulated data' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l threads -d 'The number of threads; it does not change the results [default: all]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l max-memory -d 'The most memory to use, such as 8GiB or 500MB; a fit that needs more is refused (`ewca fit` first tries to read the table in parts) [default: what is free]' -r
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand reproduce" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l label -d 'A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the first one sets the colours, and the classes in reports and `ewca select`' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l id -d 'The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l ignore -d 'A column to leave out; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l where -d 'Use only the rows that have this text in this column; the column is not used as a feature' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l missing -d 'What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)' -r -f -a "error\t'Stop, and show the first missing value'
drop-rows\t'Leave out rows (samples) with missing values'
drop-columns\t'Leave out columns (features) with missing values'
mean\t'Replace them with the mean of the column; for new samples, with its mean in the training data'"
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l missing-values -d 'Another word or number that means a missing value in a text table, such as -999; can be given several times' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l array -l variable -l layer -l sheet -d 'Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l feature-type -d 'The type of features to keep from a 10x file or folder that has several [default: Gene Expression]' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l format -d 'The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l delimiter -d 'What separates the columns of a text table: , ; | tab or space [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l decimal -d 'The decimal mark of a text table: . or , [default: detected]' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l encoding -d 'The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]' -r
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l metadata -d 'A table that describes the samples (.csv, .tsv or .xlsx, also compressed): one row per sample, in any order, matched by the sample names. All its columns are used in the results; --label can name some of them' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l transpose -d 'The file has features in rows and samples in columns'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l no-header -d 'The first line of a text table contains data, not column names'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand demo" -s o -l output -d 'The folder for the results; it is created if needed' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand demo" -l report -d 'Write the report to this file [default: report.html in the folder]' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand demo" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand demo" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand demo" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand demo" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand demo" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ewca -n "__fish_ewca_using_subcommand completions" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand completions" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand completions" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand completions" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand completions" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ewca -n "__fish_ewca_using_subcommand man" -s o -l output -d 'A folder for the pages of all commands; it is created if needed' -r -F
complete -c ewca -n "__fish_ewca_using_subcommand man" -s v -l verbose -d 'Print more: solver, kernel passes, time and memory'
complete -c ewca -n "__fish_ewca_using_subcommand man" -s q -l quiet -d 'Print only warnings and errors'
complete -c ewca -n "__fish_ewca_using_subcommand man" -l json -d 'Print messages as JSON for other programs, one object per line'
complete -c ewca -n "__fish_ewca_using_subcommand man" -l raw-text -d 'Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in front (removed again when ewca reads the file)'
complete -c ewca -n "__fish_ewca_using_subcommand man" -l overwrite -d 'Replace existing files even if this program did not write them; otherwise the program stops without touching them. Inputs are never replaced'
complete -c ewca -n "__fish_ewca_using_subcommand man" -s h -l help -d 'Print help'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "fit" -d 'Find components, as PCA does, that also keep neighbouring samples together'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "transform" -d 'Compute the scores of new samples with a fitted model'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "reconstruct" -d 'Compute samples from their scores (the inverse of transform)'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "neighbours" -d 'List each sample\'s partners: which samples it is matched with most strongly'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "report" -d 'Make an interactive report of a fit: one HTML file'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "path" -d 'Fit with a series of epsilons, and report where the fit collapses'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "select" -d 'Choose k and epsilon by how well nearest neighbours predict the classes of --label'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "reproduce" -d 'Repeat the experiments of the paper, and compare the results with the published ones'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "inspect" -d 'Show what is in a file: a table in any format, or a model'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "demo" -d 'Try EWCA on data that come with the program'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "completions" -d 'Print tab completions for your shell'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "man" -d 'Print the manual page, or write all pages to a folder'
complete -c ewca -n "__fish_ewca_using_subcommand help; and not __fish_seen_subcommand_from fit transform reconstruct neighbours report path select reproduce inspect demo completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
